import { once } from 'node:events'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { Agent, request } from 'undici'
import { beforeEach, describe, expect, it } from 'vitest'
import { selfSigned } from '../test/certificate.ts'
import { type FakeNetwork, fakeNetwork, startWebServer } from '../test/fakes/network.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { guardedConnector, PrivateAddressError } from './guarded-connector.ts'
import { realNetwork } from './network.ts'

const PUBLIC = '93.184.215.99'

let internet: FakeNetwork
beforeEach(() => {
  internet = fakeNetwork()
})

async function get(
  url: string,
  { network = internet, allowPrivate = false, timeoutMs = 5_000 } = {},
): Promise<{ status: number; text: string }> {
  const agent = new Agent({ connect: guardedConnector(network, { allowPrivate, timeoutMs }) })
  try {
    const { statusCode, body } = await request(url, { dispatcher: agent })
    return { status: statusCode, text: await body.text() }
  } finally {
    await agent.destroy()
  }
}

describe('a guarded connection', () => {
  it('a guarded connection sends the host’s own name and port', async () => {
    await internet.site('photos.example', ({ headers }, res) => res.end(headers.host))
    expect(await get('http://photos.example:8080/')).toEqual({
      status: 200,
      text: 'photos.example:8080',
    })
  })

  it.each([
    ['a private address', ['10.0.0.5']],
    ['this machine', ['127.0.0.1']],
    ['the metadata service of a cloud', ['169.254.169.254']],
    ['a private IPv6 address', ['fd00::5']],
    ['a public and a private address', [PUBLIC, '192.168.0.1']],
    ['a private and a public address', ['::1', PUBLIC]],
  ])(
    'a connection is refused before anything is sent when the name resolves to %s',
    async (_, addresses) => {
      internet.names.set('photos.example', addresses)
      for (const address of addresses) internet.ports.set(address, 1)
      await expect(get('http://photos.example/')).rejects.toThrow(PrivateAddressError)
      expect(internet.dialled).toEqual([])
    },
  )

  it.each(['http://127.0.0.1/', 'http://[::1]/', 'http://2130706433/', 'http://[::ffff:7f00:1]/'])(
    'a connection to a URL with a private address is refused without a lookup: %s',
    async (url) => {
      await expect(get(url)).rejects.toThrow(PrivateAddressError)
      expect([internet.resolved, internet.dialled]).toEqual([[], []])
    },
  )

  it('a guarded connection goes to the checked address, without a second lookup (DNS rebinding)', async () => {
    const site = await internet.site('photos.example', (_, res) => res.end('picture'))
    const inside = await startWebServer((_, res) => res.end('secret'))
    internet.ports.set('127.0.0.1', inside.port)
    const answers = [[site.address], ['127.0.0.1']]
    internet.names.set('photos.example', () => answers.shift() ?? ['127.0.0.1'])
    expect(await get('http://photos.example/')).toMatchObject({ text: 'picture' })
    expect(internet.resolved).toEqual(['photos.example'])
    await expect(get('http://photos.example/')).rejects.toThrow(PrivateAddressError)
  })

  it('WEBHOOK_ALLOW_PRIVATE allows connections to private addresses', async () => {
    const { port } = await startWebServer((_, res) => res.end('local'))
    const local = { network: { ...internet, ...realNetwork }, allowPrivate: true }
    expect(await get(`http://localhost:${port}/`, local)).toMatchObject({ text: 'local' })
    expect(await get(`http://127.0.0.1:${port}/`, local)).toMatchObject({ text: 'local' })
  })

  it('an unknown name, a closed port and a silent host are not reported as private addresses', async () => {
    const silent = createServer()
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    internet.names.set('nobody.example', [PUBLIC])
    internet.names.set('empty.example', [])
    internet.names.set('slow-name.example', () => new Promise(() => {}))
    internet.names.set('silent.example', ['93.184.215.98'])
    internet.ports.set('93.184.215.98', (silent.address() as AddressInfo).port)
    for (const url of [
      'http://unknown.example/',
      'http://nobody.example/',
      'http://empty.example/',
      'http://slow-name.example/',
      'https://silent.example/',
    ]) {
      const error = await get(url, { timeoutMs: 50 }).catch((error) => error)
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(PrivateAddressError)
    }
    silent.close()
  })

  it('a connection tries the other addresses if one does not respond', async () => {
    const { port } = await startWebServer((_, res) => res.end('alive'))
    const network = { ...internet, ...realNetwork, resolve: async () => ['::1', '127.0.0.1'] }
    expect(
      await get(`http://photos.example:${port}/`, { network, allowPrivate: true }),
    ).toMatchObject({ text: 'alive' })
  })

  it('an address has two seconds to respond before the next one is tried', async () => {
    const port = await startUnresponsiveHost()
    const began = performance.now()
    const socket = realNetwork.dial(['127.0.0.1', '::1'], port).on('error', () => {})
    await once(socket, 'connectionAttemptTimeout')
    // Timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(1_990)
  })
})

/** The port of a host whose queue of connections is full, so that it doesn't accept further ones. */
async function startUnresponsiveHost(): Promise<number> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
    })`,
    { eval: true },
  )
  const [port] = await once(worker, 'message')
  const queued = Array.from({ length: 3 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  whenFileEnds(() => {
    for (const socket of queued) socket.destroy()
    return worker.terminate()
  })
  await once(queued[0]!, 'connect')
  return port
}

const certificate = await selfSigned('photos.example', PUBLIC)

describe.skipIf(!certificate)('a secure connection', () => {
  it('a TLS connection sends the name (SNI) and checks the certificate against it', async () => {
    const servernames: unknown[] = []
    const site = createSecureServer(certificate!, (_, res) => res.end('secure'))
    site.on('secureConnection', ({ servername }) => servernames.push(servername))
    await once(site.listen(0, '127.0.0.1'), 'listening')
    internet.ports.set(PUBLIC, (site.address() as AddressInfo).port)
    internet.names.set('photos.example', [PUBLIC])
    internet.names.set('other.example', [PUBLIC])
    const other = '93.184.215.98'
    internet.ports.set(other, (site.address() as AddressInfo).port)

    await expect(get('https://photos.example/')).rejects.toThrow(/self-signed/)
    setDefaultCACertificates([...getCACertificates('default'), String(certificate!.cert)])
    expect(await get('https://photos.example/')).toEqual({ status: 200, text: 'secure' })
    expect(servernames.at(-1)).toBe('photos.example')
    await expect(get('https://other.example/')).rejects.toThrow(/altnames/)
    expect(await get(`https://${PUBLIC}/`)).toMatchObject({ text: 'secure' })
    await expect(get(`https://${other}/`)).rejects.toThrow(/cert's list/)
    site.closeAllConnections()
    site.close()
  })
})
