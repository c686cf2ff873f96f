import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const NDJSON = { 'content-type': 'application/x-ndjson' }
const importLines = (payload: string | Buffer, headers: Record<string, string> = NDJSON) =>
  app.operator.post('/operator/v1/catalog/import', { payload, headers })

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
  it('takes the good lines, reports the bad ones, and serves the new data when it answers', async () => {
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
      },
    })
    const seller = await app.seller()
    expect((await seller.get('/v1/cards/base1-1')).status).toBe(200)
  })

  it('changes nothing the second time, and says so', async () => {
    const payload = lines(set('base2'), card('base2-1', 'base2'))
    await importLines(payload)
    const { body } = await importLines(payload)
    expect(body.data).toMatchObject({ created: 0, updated: 0, unchanged: 2, rejected: 0 })
  })

  it('reads gzip', async () => {
    const headers = { ...NDJSON, 'content-encoding': 'gzip' }
    const { body } = await importLines(gzipSync(lines(set('base3'))), headers)
    expect(body.data.created).toBe(1)
  })

  it('says how far it came when the gzip data break off', async () => {
    const payload = gzipSync(lines(set('base4'), set('base5')))
    const headers = { ...NDJSON, 'content-encoding': 'gzip' }
    const { status, body } = await importLines(payload.subarray(0, -4), headers)
    expect(status).toBe(422)
    expect(body.error.fields.body[0]).toMatch(/broke off after line 1/)
    expect(body.error.fields.body[1]).toMatch(/1 created/)
  })

  it('takes an import without lines for what it is', async () => {
    expect((await importLines('')).body.data).toMatchObject({ created: 0, rejected: 0 })
  })

  it('answers another type or compression with 415, and no body with 422', async () => {
    const typed = await importLines('{}', { 'content-type': 'application/json' })
    expect(typed.status).toBe(415)
    expect(typed.body.error.message).toBe('The body must be application/x-ndjson.')
    expect((await importLines('{}', { ...NDJSON, 'content-encoding': 'br' })).status).toBe(415)
    expect((await app.operator.post('/operator/v1/catalog/import')).status).toBe(422)
  })
})
