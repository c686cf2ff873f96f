import type { RequestListener } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { systemResolver } from '../outbound/dns.ts'
import { type FakeNetwork, fakeNetwork, startWebServer } from '../test/fakes/network.ts'
import { fetchPhoto } from './fetch-photo.ts'
import { PhotoError } from './photo.ts'

const MB = 1024 * 1024

let internet: FakeNetwork
beforeEach(() => {
  internet = fakeNetwork()
})

const fetched = (url: string, more: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
  fetchPhoto(url, {
    network: internet,
    allowPrivate: false,
    userAgent: 'Cardstall (+https://cards.example)',
    signal: new AbortController().signal,
    ...more,
  })

async function failureOf(
  fetching: Promise<unknown>,
): Promise<{ message: string; isPermanent: boolean }> {
  const error = await fetching.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(PhotoError)
  return { message: error.message, isPermanent: error.isPermanent }
}

const redirectTo =
  (location: string, status = 302): RequestListener =>
  (_, res) =>
    res.writeHead(status, { location }).end()

describe('fetchPhoto', () => {
  it('the request for a photo has our User-Agent, and no credentials or cookies', async () => {
    let seen: object = {}
    const site = await internet.site('photos.example', ({ method, url, headers }, res) => {
      seen = { method, url, ...headers }
      res.setHeader('set-cookie', 'a=b').end('bytes')
    })
    const bytes = await fetched(`${site.url.replace('//', '//alice:secret@')}/1.jpg?size=2#top`)
    expect(bytes.toString()).toBe('bytes')
    expect(seen).toEqual({
      method: 'GET',
      url: '/1.jpg?size=2',
      host: 'photos.example',
      connection: 'keep-alive',
      accept: 'image/*,*/*;q=0.5',
      'accept-encoding': 'identity',
      'user-agent': 'Cardstall (+https://cards.example)',
    })
  })

  it.each([301, 302, 303, 307, 308])('a redirect with %i is followed', async (status) => {
    await internet.site('cdn.example', ({ url, headers }, res) => res.end(`${headers.host}${url}`))
    await internet.site('photos.example', redirectTo('//cdn.example/there.jpg', status))
    expect(String(await fetched('http://photos.example/1.jpg'))).toBe('cdn.example/there.jpg')
  })

  it('at most three redirects are followed', async () => {
    await internet.site('photos.example', ({ url }, res) => {
      const remaining = Number(url!.slice(1))
      if (remaining === 0) res.end('arrived')
      else res.writeHead(302, { location: `/${remaining - 1}`, 'set-cookie': 'a=b' }).end()
    })
    expect(String(await fetched('http://photos.example/3'))).toBe('arrived')
    expect(await failureOf(fetched('http://photos.example/4'))).toEqual({
      message: 'The server redirected more than 3 times.',
      isPermanent: true,
    })
  })

  it('a redirect loop ends after four requests', async () => {
    let requests = 0
    await internet.site('photos.example', (_, res) => {
      requests++
      res.writeHead(302, { location: '/' }).end()
    })
    expect(await failureOf(fetched('http://photos.example/'))).toMatchObject({ isPermanent: true })
    expect(requests).toBe(4)
  })

  it.each([
    ['a loopback address', 'http://127.0.0.1/secret'],
    ['the metadata service of a cloud', 'http://169.254.169.254/latest/meta-data/'],
    ['a hexadecimal spelling of that address', 'http://0xa9fea9fe/'],
    ['a name that resolves to a private address', 'http://inside.example/secret'],
  ])('a redirect from a public host to %s is refused', async (_, location) => {
    let reached = false
    const inside = await startWebServer((_, res) => {
      reached = true
      res.end('secret')
    })
    for (const address of ['127.0.0.1', '169.254.169.254', '10.0.0.1']) {
      internet.ports.set(address, inside.port)
    }
    internet.names.set('inside.example', ['10.0.0.1'])
    await internet.site('photos.example', redirectTo(location))
    expect(await failureOf(fetched('http://photos.example/1.jpg'))).toEqual({
      message: 'The host points to a private or reserved address.',
      isPermanent: true,
    })
    expect(reached).toBe(false)
  })

  it.each(['file:///etc/passwd', 'ftp://photos.example/', 'http://', 'data:image/png;base64,AA'])(
    'a URL that is not http or https is refused: %s',
    async (location) => {
      await internet.site('photos.example', redirectTo(location))
      const expected = { message: 'The address is not an http or https URL.', isPermanent: true }
      expect(await failureOf(fetched('http://photos.example/'))).toEqual(expected)
      expect(await failureOf(fetched(location))).toEqual(expected)
    },
  )

  it('a file of 10 MB is accepted, and one byte more is refused, whatever its Content-Length', async () => {
    await internet.site('photos.example', ({ url }, res) => {
      const [, length, declared] = url!.split('/')
      if (declared) res.setHeader('content-length', declared)
      res.write(Buffer.alloc(Number(length)))
      res.end()
    })
    expect((await fetched(`http://photos.example/${10 * MB}`)).length).toBe(10 * MB)
    expect((await fetched(`http://photos.example/${10 * MB}/${10 * MB}`)).length).toBe(10 * MB)
    const tooLarge = { message: 'The file is larger than 10 MB.', isPermanent: true }
    for (const path of [`${10 * MB + 1}`, `${10 * MB + 1}/${10 * MB + 1}`]) {
      expect(await failureOf(fetched(`http://photos.example/${path}`))).toEqual(tooLarge)
    }
  })

  it('an endless response is cut off at the limit, and one with a larger Content-Length is not read', async () => {
    let sent = 0
    await internet.site('photos.example', ({ url }, res) => {
      if (url === '/large') res.setHeader('content-length', 10_000 * MB)
      const more = () => {
        if (res.destroyed) return
        sent += MB
        res.write(Buffer.alloc(MB), () => setImmediate(more))
      }
      more()
    })
    expect(await failureOf(fetched('http://photos.example/endless'))).toMatchObject({
      isPermanent: true,
    })
    expect(sent).toBeLessThan(30 * MB)
    sent = 0
    expect(await failureOf(fetched('http://photos.example/large'))).toMatchObject({
      isPermanent: true,
    })
    expect(sent).toBeLessThan(10 * MB)
  })

  it('a fetch times out, however slowly the response or the DNS lookup proceeds', async () => {
    await internet.site('photos.example', ({ url }, res) => {
      if (url === '/silent') return
      res.write('a')
      const timer = setInterval(() => res.write('a'), 5)
      res.on('close', () => clearInterval(timer))
    })
    const expected = {
      message: 'The picture did not arrive within 0.2 seconds.',
      isPermanent: false,
    }
    for (const url of ['http://photos.example/silent', 'http://photos.example/trickling']) {
      expect(await failureOf(fetched(url, { timeoutMs: 200 }))).toEqual(expected)
    }
    internet.names.set('slow-name.example', () => new Promise(() => {}))
    expect(await failureOf(fetched('http://slow-name.example/', { timeoutMs: 200 }))).toEqual(
      expected,
    )
  })

  it('error statuses, refused or broken connections and unknown names are temporary failures', async () => {
    await internet.site('photos.example', ({ url, socket }, res) => {
      if (url === '/broken') {
        res.writeHead(200, { 'content-length': 100 }).write('half')
        setImmediate(() => socket.destroy())
      } else if (url === '/no-http') socket.end('hello')
      else res.writeHead(Number(url!.slice(1))).end('<html>')
    })
    internet.names.set('nobody.example', ['93.184.215.200'])
    internet.names.set('no-dns.example', () =>
      systemResolver({ servers: ['127.0.0.1:1'] })('no-dns.example'),
    )
    for (const [url, message] of [
      ['http://photos.example/404', 'The server responded with status 404.'],
      ['http://photos.example/503', 'The server responded with status 503.'],
      ['http://photos.example/302', 'The server responded with status 302.'],
      ['http://photos.example/304', 'The server responded with status 304.'],
      ['http://photos.example/broken', 'The connection failed before a response arrived.'],
      ['http://photos.example/no-http', 'The connection failed before a response arrived.'],
      ['http://nobody.example/', 'The server refused the connection.'],
      ['http://unknown.example/', 'The host name could not be resolved.'],
      ['http://no-dns.example/', 'The host name could not be resolved.'],
    ] as const) {
      expect(await failureOf(fetched(url))).toEqual({ message, isPermanent: false })
    }
  })

  it('an aborted signal ends the fetch with its reason', async () => {
    const stopping = new AbortController()
    await internet.site('photos.example', () => stopping.abort(new Error('stopping')))
    await expect(fetched('http://photos.example/', { signal: stopping.signal })).rejects.toThrow(
      'stopping',
    )
  })
})
