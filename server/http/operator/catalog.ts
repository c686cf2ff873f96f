import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { ImportAborted, ImportInterrupted, importCatalog } from '../../catalog/import/import.ts'
import { linesOf } from '../../catalog/import/lines.ts'
import type { ImportReport } from '../../catalog/import/report.ts'
import { gunzip } from '../../catalog/import/sources.ts'
import { ImportTooLarge, MAX_STAGED_BYTES } from '../../catalog/import/staged-records.ts'
import { ApiError, unsupportedMediaType, validationError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { recheckOperator } from '../authenticate-operator.ts'
import { catalogAfterWrite } from '../catalog-after-write.ts'
import { connectionOf } from '../connections.ts'
import { envelope, incompleteBody } from '../error-handler.ts'
import { withIdleTimeout } from '../idle-timeout.ts'
import type { App } from '../schema.ts'
import { Data, ErrorObject } from '../schema.ts'
import {
  exampleImportReport,
  ImportReportSchema,
  importReportJson,
} from '../shapes/import-report.ts'

const NDJSON = 'application/x-ndjson'
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024

/** The response to an import that broke off. `data` is absent if the request was refused before its first line. */
const Interrupted = (description: string) =>
  Type.Object({ error: ErrorObject, data: Type.Optional(ImportReportSchema) }, { description })

const EXAMPLE = [
  { type: 'series', name: 'Kanto League', shortcut: 'kl' },
  {
    type: 'set',
    id: 'kl1',
    shortcut: 'kl1',
    name: 'Kanto League Promos',
    series: 'Kanto League',
    language: 'EN',
    region: 'int',
    release_date: '2026-03-01',
    total_cards: 1,
    printed_total: 1,
    logo_url: null,
    symbol_url: null,
  },
  {
    type: 'card',
    id: 'kl1-1',
    set_id: 'kl1',
    name: 'Bulbasaur',
    number: '1',
    rarity: 'Promo',
    supertype: 'Pokemon',
    hp: '70',
    types: ['Grass'],
    image_small: null,
    image_large: null,
  },
  {
    type: 'product',
    slug: 'kanto-league-booster-box',
    name: 'Kanto League Booster Box',
    category: 'booster_box',
    set_id: 'kl1',
    image_url: null,
    release_date: '2026-03-01',
  },
]
  .map((record) => `${JSON.stringify(record)}\n`)
  .join('')

export function catalogRoutes(app: App, ctx: Service): void {
  const recheck = recheckOperator(ctx)
  // The body stays a stream, so that memory does not grow with it and its length needs no limit.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(NDJSON, (request, payload, done) => {
    // Before anything waits for the database: the client sends meanwhile, and the import has a timeout of its own.
    connectionOf(request.raw.socket)?.allowSlowRequest()
    done(null, payload)
  })
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(unsupportedMediaType(`The body must be ${NDJSON}.`)),
  )

  app.post(
    '/catalog/import',
    {
      config: { isLong: true, streamsBody: true, audit: 'begun and ended' },
      // The import validates the lines as it reads them.
      validatorCompiler: () => () => true,
      schema: {
        operationId: 'importCatalog',
        summary: 'Import catalog records',
        description: `Imports a stream of JSON objects, one per line (\`${NDJSON}\`, at most 64 KiB each); gzip is accepted with \`Content-Encoding: gzip\`. Types: \`series\`, \`set\`, \`card\`, \`product\`. A set may follow its cards in the same file; a card or product is rejected if its set is neither in the file nor in the catalog. If several lines have the same key, the last one wins and \`warnings\` lists the others. Importing the same file again changes nothing. An invalid line is reported and does not affect the others. Records that the file does not contain stay unchanged. \`visible\` false hides a set, card or product; without it an existing record stays hidden or visible. The service reads the whole body before it changes the catalog: if the connection closes or the staff token is revoked before that, nothing is imported; if it closes later, the import is completed. One import holds at most ${MAX_STAGED_BYTES / 1024 ** 2} MiB of records. Concurrent imports run one after the other. When the response arrives, this process serves the new data; others follow within seconds.`,
        tags: ['Catalog'],
        consumes: [NDJSON],
        body: Type.Unsafe<Readable | undefined>({
          type: 'string',
          description: 'One JSON object per line',
          examples: [EXAMPLE],
        }),
        response: {
          200: Data(ImportReportSchema, 'The result of the import'),
          408: Interrupted(
            '`request_timeout`: no byte arrived for 60 seconds. The lines before were imported; `data` reports them.',
          ),
          413: Interrupted(
            '`payload_too_large`: the body has more records than one import holds. The lines before were imported; `data` reports them.',
          ),
          422: Interrupted(
            '`validation_error`: the body is missing, or its gzip data is damaged or ends early. The lines before the damage were imported; `data` reports them.',
          ),
        },
        'x-body-errors': ['unsupported_media_type', 'validation_error'],
        'x-example': { data: exampleImportReport },
      },
    },
    async (request, reply) => {
      try {
        const report = await importCatalog(ctx, linesOf(bodyOf(request)), {
          signal: lostClient(request.raw),
          beforeSaving: () => recheck(request),
        })
        await catalogAfterWrite(ctx, ctx.catalog.refresh())
        ctx.metrics.countImport('complete', report)
        return { data: importReportJson(report) }
      } catch (error) {
        if (error instanceof ImportAborted) {
          ctx.metrics.countImport('interrupted', error.report)
          throw incompleteBody()
        }
        if (error instanceof ImportInterrupted) {
          ctx.metrics.countImport('interrupted', error.report)
          await catalogAfterWrite(ctx, ctx.catalog.refresh())
          const problem = interrupted(error)
          const isLate = problem.type === 'request_timeout'
          if (isLate || !(await discardRest(request))) reply.header('connection', 'close')
          const data = importReportJson(error.report as ImportReport)
          return reply.code(problem.status as 408 | 413 | 422).send({ ...envelope(problem), data })
        }
        if (!(error instanceof ApiError)) ctx.metrics.countImport('failed')
        throw error
      }
    },
  )
}

/** Aborted when the connection closes before the body is read: nobody would learn which lines were imported. */
function lostClient(request: IncomingMessage): AbortSignal {
  const lost = new AbortController()
  request.once('close', () => {
    if (!request.readableEnded) lost.abort()
  })
  return lost.signal
}

/** The decompressed body. It may take any time, as long as bytes keep arriving. */
function bodyOf(request: FastifyRequest): AsyncIterable<Uint8Array> {
  if (!request.body) throw validationError({ body: [`The body must be ${NDJSON}.`] })
  const bytes = chunksOf(request)
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return bytes
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzip(bytes)
  throw unsupportedMediaType(`The body may be compressed with gzip, not with ${encoding}.`)
}

/**
 * Reads and discards the rest of a body: most clients read a response only after they have sent their whole request.
 *
 * @returns whether the body ended, so that the connection can be reused
 */
async function discardRest(request: FastifyRequest): Promise<boolean> {
  let bytes = 0
  try {
    for await (const chunk of chunksOf(request)) {
      bytes += chunk.length
      if (bytes > MAX_DISCARDED_BYTES) return false
    }
    return true
  } catch {
    return false
  }
}

/** The chunks of the body. Ending the iteration early leaves the connection open for the response. */
const chunksOf = (request: FastifyRequest): AsyncIterable<Uint8Array> =>
  withIdleTimeout(
    (request.body as Readable).iterator({ destroyOnReturn: false }),
    request.server.server.requestTimeout,
  )

function interrupted({ message, report, cause }: ImportInterrupted): ApiError {
  const { created, updated, unchanged, rejected } = report
  if (cause instanceof ApiError) return cause
  const counts = `Before that: ${created} created, ${updated} updated, ${unchanged} unchanged, ${rejected} rejected.`
  return cause instanceof ImportTooLarge
    ? new ApiError('payload_too_large', `${message}. ${counts}`)
    : validationError({ body: [message, counts] })
}
