import type { Readable } from 'node:stream'
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { ImportInterrupted, importCatalog } from '../../catalog/import.ts'
import { linesOf } from '../../catalog/lines.ts'
import { gunzip } from '../../catalog/sources.ts'
import type { Context } from '../../context.ts'
import { unsupportedMediaType, validationError } from '../../errors.ts'
import { component, Data } from '../schema.ts'

const NDJSON = 'application/x-ndjson'

const ImportReport = component(
  'ImportReport',
  Type.Object(
    {
      created: Type.Integer(),
      updated: Type.Integer(),
      unchanged: Type.Integer(),
      rejected: Type.Integer(),
      errors: Type.Array(
        Type.Object({
          line: Type.Integer({ description: 'Counted from 1' }),
          message: Type.String({ description: 'Names the record, if the line can be read' }),
        }),
        { description: 'The first 100 rejected lines' },
      ),
    },
    { description: 'Every line counts once.' },
  ),
)

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
]
  .map((record) => `${JSON.stringify(record)}\n`)
  .join('')

export const catalogRoutes =
  (ctx: Context): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    // The body stays a stream: memory doesn't grow with it, and there is no limit to its length.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser(NDJSON, (_request, payload, done) => done(null, payload))
    app.addContentTypeParser('*', (_request, _payload, done) =>
      done(unsupportedMediaType(`The body must be ${NDJSON}.`)),
    )

    app.post(
      '/catalog/import',
      {
        // The body is a stream: each line is checked when it is read.
        validatorCompiler: () => () => true,
        schema: {
          operationId: 'importCatalog',
          summary: 'Import catalog records',
          description: `A stream of JSON objects, one a line (\`${NDJSON}\`, at most 64 KiB each), gzip accepted with \`Content-Encoding: gzip\`. Types: \`series\`, \`set\`, \`card\`, \`product\`; a set's line comes before its cards. Importing the same again changes nothing. A bad line is reported and never loses the rest; what an import doesn't mention stays. Two imports run one after the other. When the answer comes, this process serves the new data.`,
          tags: ['Catalog'],
          consumes: [NDJSON],
          body: Type.Unsafe<Readable | undefined>({
            type: 'string',
            description: 'One JSON object per line',
            examples: [EXAMPLE],
          }),
          response: { 200: Data(ImportReport, 'What was imported') },
          'x-body-errors': ['unsupported_media_type', 'validation_error'],
          'x-example': {
            data: {
              created: 186,
              updated: 0,
              unchanged: 1,
              rejected: 1,
              errors: [{ line: 12, message: 'card base99-1: set base99 is not in the catalog' }],
            },
          },
        },
      },
      async (request) => {
        const report = await importCatalog(ctx, linesOf(bodyOf(request))).catch((error) => {
          if (error instanceof ImportInterrupted) throw interrupted(error)
          throw error
        })
        await ctx.catalog.refresh()
        return { data: report }
      },
    )
    done()
  }

function bodyOf(request: FastifyRequest): AsyncIterable<Uint8Array> {
  const body = request.body as AsyncIterable<Uint8Array> | undefined
  if (!body) throw validationError({ body: [`The body must be ${NDJSON}.`] })
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return body
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzip(body)
  throw unsupportedMediaType(`The body may be compressed with gzip, not with ${encoding}.`)
}

function interrupted({ message, report }: ImportInterrupted) {
  const { created, updated, unchanged, rejected } = report
  return validationError({
    body: [
      message,
      `Before that: ${created} created, ${updated} updated, ${unchanged} unchanged, ${rejected} rejected.`,
    ],
  })
}
