import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { Agent, request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../test/app.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { sampleValue } from '../../test/metrics.ts'
import { until } from '../../test/until.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const NDJSON = { 'content-type': 'application/x-ndjson' }
const importLines = (payload: string | Buffer, headers: Record<string, string> = NDJSON) =>
  app.operator.post('/operator/v1/catalog/import', { payload, headers })

let listening: Promise<string> | undefined

/** Starts the service's HTTP server, once for all tests. */
async function listen(): Promise<{ origin: string; port: number }> {
  listening ??= app.app.listen({ port: 0, host: '127.0.0.1' })
  const origin = await listening
  return { origin, port: Number(new URL(origin).port) }
}

const openConnections = () =>
  promisify(app.app.server.getConnections).call(app.app.server) as Promise<number>

const lines = (...records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')
const set = (id: string) => ({
  type: 'set',
  id,
  name: id,
  series: 'Base',
  language: 'EN',
  region: 'int',
})
const card = (id: string, set_id: string) => ({ type: 'card', id, set_id, name: id, number: '1' })

describe('POST /operator/v1/catalog/import', () => {
  it('a catalog import imports valid lines, reports invalid ones and serves the new data at once', async () => {
    const payload = `${lines(set('base1'), card('base1-1', 'base1'))}\nnonsense\n\n${lines(card('x-1', 'nowhere'))}\n`
    const { status, body } = await importLines(payload)
    expect(status).toBe(200)
    expect(body).toEqual({
      data: {
        created: 2,
        updated: 0,
        unchanged: 0,
        rejected: 2,
        errors: [
          { line: 3, message: 'not a JSON object' },
          { line: 5, message: 'card x-1: set nowhere is not in the catalog' },
        ],
        warnings: [],
      },
    })
    const seller = await app.seller()
    expect((await seller.get('/v1/cards/base1-1')).status).toBe(200)
  })

  it('a repeated catalog import changes nothing and reports that', async () => {
    const payload = lines(set('base2'), card('base2-1', 'base2'))
    await importLines(payload)
    const { body } = await importLines(payload)
    expect(body.data).toMatchObject({ created: 0, updated: 0, unchanged: 2, rejected: 0 })
  })

  it('a catalog import can be gzip', async () => {
    const headers = { ...NDJSON, 'content-encoding': 'gzip' }
    const { body } = await importLines(gzipSync(lines(set('base3'))), headers)
    expect(body.data.created).toBe(1)
  })

  it('a damaged gzip import reports and serves the lines before the damage', async () => {
    const payload = gzipSync(lines(set('base4'), card('base4-1', 'base4'), set('base5')))
    const headers = { ...NDJSON, 'content-encoding': 'gzip' }
    const { status, body } = await importLines(payload.subarray(0, -4), headers)
    expect(status).toBe(422)
    const broken = /^The import broke off after line 2: the gzip data is damaged or cut off/
    expect(body).toEqual({
      error: {
        type: 'validation_error',
        message: expect.stringMatching(broken),
        fields: {
          body: [
            expect.stringMatching(broken),
            'Before that: 2 created, 0 updated, 0 unchanged, 0 rejected.',
          ],
        },
      },
      data: { created: 2, updated: 0, unchanged: 0, rejected: 0, errors: [], warnings: [] },
    })
    const seller = await app.seller()
    expect((await seller.get('/v1/cards/base4-1')).status).toBe(200)
  })

  it('an import that broke off has an entry in the audit log, with the numbers of records that it saved', async () => {
    const payload = gzipSync(lines(set('base7'), card('base7-1', 'base7'), set('base8')))
    const headers = { ...NDJSON, 'content-encoding': 'gzip' }
    const { headers: sent } = await importLines(payload.subarray(0, -4), headers)
    const { body } = await app.operator.get('/operator/v1/audit?action=importCatalog')
    expect(body.data[0]).toMatchObject({
      request_id: sent['x-request-id'],
      before: null,
      after: { created: 2, updated: 0, unchanged: 0, rejected: 0 },
    })
    expect(await app.ctx.db`select from unfinished_audit_entries`).toHaveLength(0)
  })

  it('a catalog import warns about repeated keys with both lines', async () => {
    const payload = lines(set('base6'), { ...set('base6'), name: 'Last' })
    const warning = {
      line: 1,
      superseded_by: 2,
      message: 'set base6: line 1 is superseded by line 2',
    }
    const expected = { updated: 0, rejected: 0, errors: [], warnings: [warning] }
    expect((await importLines(payload)).body.data).toEqual({
      ...expected,
      created: 1,
      unchanged: 1,
    })
    expect((await importLines(payload)).body.data).toEqual({
      ...expected,
      created: 0,
      unchanged: 2,
    })
    const seller = await app.seller()
    expect((await seller.get('/v1/sets/base6')).body.data.name).toBe('Last')
  })

  it('a catalog import without lines succeeds', async () => {
    expect((await importLines('')).body.data).toMatchObject({ created: 0, rejected: 0 })
  })

  it('a catalog import of another type or compression gets a 415, without a body a 422', async () => {
    const typed = await importLines('{}', { 'content-type': 'application/json' })
    expect(typed.status).toBe(415)
    expect(typed.body.error.message).toBe('The body must be application/x-ndjson.')
    expect((await importLines('{}', { ...NDJSON, 'content-encoding': 'br' })).status).toBe(415)
    expect((await app.operator.post('/operator/v1/catalog/import')).status).toBe(422)
  })

  it('an import whose client disconnects changes nothing if its body is incomplete, and is completed otherwise', async () => {
    const { port } = await listen()
    const interrupted = 'cardstall_catalog_imports_total{outcome="interrupted"}'
    const count = async () => sampleValue((await app.operator.get('/metrics')).text, interrupted)
    const send = (body: string, length: number) => {
      const socket = connect(port, '127.0.0.1')
      socket.write(
        `POST /operator/v1/catalog/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${length}\r\n\r\n${body}`,
      )
      return socket
    }
    const before = await count()
    // More than one batch of staged records.
    const half = `${lines(...Array.from({ length: 1_100 }, (_, i) => set(`half${i}`)))}\n`
    const leaving = send(half, half.length + 1)
    await until('lines are staged', async () => {
      const [staged] = await app.ctx.db`select from import_records limit 1`
      return staged
    })
    leaving.destroy()
    await until('the import has ended', async () => (await count()) !== before)

    const whole = `${lines(set('whole'))}\n`
    await inTransaction(app.ctx, async ({ db }) => {
      await db`lock table sets in share mode`
      const client = send(whole, whole.length)
      await untilLockWaiters(app.ctx.db)
      client.destroy()
      await until('the service has noticed', async () => (await openConnections()) === 0)
    })
    const seller = await app.seller()
    await until('it is served', async () => (await seller.get('/v1/sets/whole')).status === 200)
    expect((await seller.get('/v1/sets/half0')).status).toBe(404)
  })

  it('a large damaged import is received completely before the response, so that the connection survives', async () => {
    const { origin } = await listen()
    const agent = new Agent({ connections: 1 })
    const send = (body: Buffer) =>
      request(`${origin}/operator/v1/catalog/import`, {
        method: 'POST',
        headers: {
          ...NDJSON,
          'content-encoding': 'gzip',
          authorization: `Bearer ${OPERATOR_TOKEN}`,
        },
        body,
        dispatcher: agent,
      })
    try {
      // Larger than the chunks of decompression: the chunk with the damage is lost.
      const sets = Array.from({ length: 50 }, () => set(randomBytes(20).toString('hex')))
      const damaged = Buffer.concat([gzipSync(lines(...sets)), randomBytes(8_000_000)])
      const refused = await send(damaged)
      expect(refused.statusCode).toBe(422)
      expect(refused.headers.connection).not.toBe('close')
      const { data } = (await refused.body.json()) as { data: { created: number } }
      expect(data.created).toBeGreaterThan(30)
      const good = await send(gzipSync(lines(sets[0]!)))
      expect(await good.body.json()).toMatchObject({ data: { unchanged: 1 } })
    } finally {
      await agent.close()
    }
  })
})
