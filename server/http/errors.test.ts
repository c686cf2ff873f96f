import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
  await app.app.listen({ port: 0, host: '127.0.0.1' })
})

const create = (payload: unknown, headers: Record<string, string> = {}) =>
  app.operator.post('/operator/v1/accounts', { payload: payload as string, headers })

const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends bytes as they are, which no HTTP client would; answers all that comes back. */
async function raw(bytes: string): Promise<string> {
  const { port } = app.app.server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  socket.end(bytes)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}

describe('every answer', () => {
  it('carries an X-Request-Id of its own that is in the log, too', async () => {
    const [one, other] = [await app.anyone.get('/health/live'), await app.anyone.get('/nothing')]
    const ids = [one.headers['x-request-id'], other.headers['x-request-id']]
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(app.logged.some(({ reqId }) => reqId === id)).toBe(true)
  })

  it('is logged without its query, which can hold a secret', async () => {
    await app.anyone.get('/nothing?signature=hush')
    expect(JSON.stringify(app.logged)).not.toContain('hush')
  })
})

describe('an address', () => {
  it('that is unknown answers 404 in the envelope', async () => {
    for (const url of ['/v1', '/v1/nothing', '/operator/v1/nothing']) {
      const answer = await app.anyone.get(url)
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual({
        error: { type: 'not_found', message: 'There is nothing at this address.' },
      })
    }
  })

  it('that is known answers another method with 405 and Allow', async () => {
    const answer = await app.anyone.put('/v1/cards')
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe('GET, HEAD')
    expect(answer.body.error.type).toBe('method_not_allowed')
    expect((await app.anyone.delete('/operator/v1/accounts/1/')).headers.allow).toBe(
      'GET, HEAD, PATCH',
    )
    expect((await app.anyone.patch('/v1/sets/x?y=1')).status).toBe(405)
  })

  it('answers an unusual method like any other wrong one', async () => {
    const answer = await raw('PROPFIND /v1/cards HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 405 /)
  })

  it('with a part that is longer than any identifier answers 404 to every method', async () => {
    for (const url of [`/v1/cards/${'x'.repeat(5_000)}`, `/labels/${'x'.repeat(5_000)}`]) {
      for (const method of ['get', 'patch', 'delete'] as const) {
        const answer = await app.anyone[method](url)
        expect(answer.status).toBe(404)
        expect(answer.body.error.type).toBe('not_found')
        expect(answer.headers['x-request-id']).toBeTruthy()
      }
    }
  })

  it('answers a QUERY like any other wrong method, with or without a body', async () => {
    for (const rest of ['\r\n', 'content-length: 2\r\n\r\n{}', 'content-type: a/b\r\n\r\n']) {
      const known = await raw(`QUERY /v1/cards HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}`)
      expect(known).toMatch(/^HTTP\/1\.1 405 /)
      expect(known).toContain('allow: GET, HEAD')
      const unknown = await raw(
        `QUERY /v1/nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}`,
      )
      expect(unknown).toMatch(/^HTTP\/1\.1 404 /)
    }
  })

  it('that is unknown is answered before its body has arrived', async () => {
    const answer = await raw('POST /v1/nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('with malformed percent-encoding answers 404 in the envelope', async () => {
    for (const url of ['/v1/cards/%zz', '/v1/cards/%ff', '/v1/cards?q=%zz', '/%']) {
      const answer = await app.anyone.get(url)
      expect(answer.status).toBe(404)
      expect(answer.body.error.type).toBe('not_found')
      expect(answer.headers['x-request-id']).toBeTruthy()
    }
  })
})

describe('a body', () => {
  it.each([
    ['malformed JSON', '{"shop_name":'],
    ['an array', '[]'],
    ['a number', '1'],
    ['null', 'null'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('that is %s answers 422 on `body`', async (_, payload) => {
    const answer = await create(payload, JSON_TYPE)
    expect(answer.status).toBe(422)
    expect(answer.body.error.type).toBe('validation_error')
    expect(Object.keys(answer.body.error.fields)).toEqual(['body'])
  })

  it('of another type than JSON answers 415', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
      const answer = await create('{}', { 'content-type': type })
      expect(answer.status).toBe(415)
      expect(answer.body.error.type).toBe('unsupported_media_type')
    }
  })

  it('is read as JSON with any spelling of that type, and without one', async () => {
    for (const headers of [
      { 'content-type': 'application/json; charset=utf-8' },
      { 'content-type': 'Application/JSON' },
      { 'content-type': 'application/merge-patch+json' },
    ]) {
      expect((await create('{}', headers)).body.error.fields).toHaveProperty('shop_name')
    }
    const authorization = 'authorization: Bearer operator-token-for-tests-and-more'
    const untyped = await raw(
      `POST /operator/v1/accounts HTTP/1.1\r\nhost: x\r\n${authorization}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`,
    )
    expect(untyped).toContain('The shop_name field is required.')
  })

  it('over 256 KiB answers 413', async () => {
    const answer = await create(JSON.stringify({ shop_name: 'x'.repeat(256 * 1024) }), JSON_TYPE)
    expect(answer.status).toBe(413)
    expect(answer.body.error).toEqual({
      type: 'payload_too_large',
      message: 'The body is larger than 256 KiB.',
    })
  })

  it.each([
    ['is nested 33 levels deep', `{"x":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['is nested without an end', `{"x":${'['.repeat(200_000)}`],
    ['has 20,001 values', `{"x":[${Array(20_000).fill(0)}]}`],
    ['has 20,001 fields', `{${Array.from({ length: 20_001 }, (_, i) => `"f${i}":0`)}}`],
  ])('that %s answers 422 on `body`', async (_, payload) => {
    const { status, body } = await create(payload, JSON_TYPE)
    expect([status, Object.keys(body.error.fields)]).toEqual([422, ['body']])
  })

  it.each([
    ['brackets in texts and after escaped quotes', `{"x":"\\"${'[{,'.repeat(50_000)}\\\\"}`],
    ['20,000 values', `{"x":[${Array(19_999).fill(0)}]}`],
    ['32 levels', `{"x":${'['.repeat(31)}${']'.repeat(31)}}`],
  ])('may have %s', async (_, payload) => {
    const { body } = await create(payload, JSON_TYPE)
    expect(body.error.fields).toHaveProperty('shop_name')
  })

  it('that is empty counts as none, whatever its type says', async () => {
    const answer = await create('', JSON_TYPE)
    expect(answer.status).toBe(422)
    expect(answer.body.error.fields).toHaveProperty('shop_name')
  })

  it('can’t reach prototypes through __proto__', async () => {
    const answer = await create(
      '{"__proto__": {"shop_name": "x", "email": "x@y.example"}}',
      JSON_TYPE,
    )
    expect(answer.status).toBe(422)
    expect(({} as Record<string, unknown>).shop_name).toBeUndefined()
  })
})

describe('an error nobody expected', () => {
  it('answers 500 without detail, and the log has the whole of it under the request’s id', async () => {
    const broken = await startTestApp()
    await broken.ctx.db`alter table accounts rename to hidden_accounts`
    const answer = await broken.operator.get('/operator/v1/accounts')
    expect(answer.status).toBe(500)
    expect(answer.body).toEqual({
      error: { type: 'server_error', message: 'Something went wrong on our side.' },
    })
    const logged = broken.logged.find(
      ({ level, reqId }) => level === 'error' && reqId === answer.headers['x-request-id'],
    )
    expect(String(logged?.err)).toContain('accounts')
  })
})

describe('what isn’t HTTP', () => {
  it('answers 400 in the envelope, with a request id', async () => {
    const answer = await raw('hello\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/x-request-id: req_/)
    expect(answer).toContain('"type":"bad_request"')
  })

  it('answers headers that are too large with 431, and a HEAD request with headers alone', async () => {
    const request = (method: string) =>
      raw(`${method} /v1/cards?q=${'y'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`)
    const answer = await request('GET')
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toMatch(/x-request-id: req_/)
    expect(answer).toContain('"type":"headers_too_large"')
    const head = await request('HEAD')
    expect(head).toMatch(/^HTTP\/1\.1 431 [\s\S]*\r\n\r\n$/)
    expect(head).toMatch(/x-request-id: req_/)
  })

  it('or expects what no server here does answers 417 in the envelope, with a request id', async () => {
    const answer = await raw(
      'POST /operator/v1/accounts HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\ncontent-length: 2\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 417 /)
    expect(answer).toMatch(/x-request-id: req_/)
    expect(answer).toMatch(/connection: close/)
    expect(answer).toContain('"type":"expectation_failed"')
  })
})
