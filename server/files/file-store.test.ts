import { createHmac, hash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { StartError } from '../start-error.ts'
import { startWebServer } from '../test/fakes/network.ts'
import { newDirectory } from '../test/new-directory.ts'
import { openBucket, readBucketUrl } from './bucket.ts'
import type { FileStore } from './file-store.ts'
import { openFileStore } from './open.ts'

const SECRET = 'secret-of-tests'
const BYTES = Buffer.from([0xff, 0xd8, 0, 1, 2, 3])

let home: string
beforeAll(async () => {
  home = await newDirectory()
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key-of-tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET)
})
afterAll(() => void vi.unstubAllEnvs())

async function expectToKeep(files: FileStore): Promise<void> {
  await files.put('photos/a-b_c.jpg', BYTES, 'image/jpeg')
  const found = await files.get('photos/a-b_c.jpg')
  expect(found?.length).toBe(BYTES.length)
  expect(await buffer(found!.stream)).toEqual(BYTES)

  await files.put('photos/a-b_c.jpg', BYTES.subarray(2), 'image/jpeg')
  expect((await files.get('photos/a-b_c.jpg'))?.length).toBe(4)
  await files.delete('photos/a-b_c.jpg')
  await files.delete('photos/a-b_c.jpg')
  expect(await files.get('photos/a-b_c.jpg')).toBeUndefined()
}

describe('a directory', () => {
  it('a missing directory is created for its owner only, and stores files', async () => {
    const root = path.join(home, 'new place', 'files')
    const files = await openFileStore(pathToFileURL(root).href)
    expect((await stat(root)).mode & 0o777).toBe(0o700)
    await expectToKeep(files)
    expect((await stat(path.join(root, 'photos'))).isDirectory()).toBe(true)
  })

  it('an existing directory keeps its mode', async () => {
    const root = await mkdtemp(path.join(home, 'shared-'))
    await chmod(root, 0o750)
    await openFileStore(`file:${root}`)
    expect((await stat(root)).mode & 0o777).toBe(0o750)
  })

  it('a failed write keeps the former file and leaves no part of the new one', async () => {
    const root = await mkdtemp(path.join(home, 'failing-'))
    const files = await openFileStore(`file:${root}`)
    await files.put('photos/a.jpg', BYTES, 'image/jpeg')
    await mkdir(path.join(root, 'labels/b.pdf/taken'), { recursive: true })
    await expect(files.put('labels/b.pdf', BYTES, 'application/pdf')).rejects.toThrow()
    expect(await readdir(path.join(root, '.unfinished'))).toEqual([])
    expect((await files.get('photos/a.jpg'))?.length).toBe(BYTES.length)
  })

  it('opening a directory and deleting a file remove abandoned unfinished files, but no recent ones', async () => {
    const root = await mkdtemp(path.join(home, 'killed-'))
    const unfinished = path.join(root, '.unfinished')
    await mkdir(unfinished)
    const [left, current] = ['left', 'current'].map((name) => path.join(unfinished, name))
    const abandon = async () => {
      await writeFile(left!, 'half')
      await utimes(left!, 0, 0)
    }
    await writeFile(current!, 'half')
    await abandon()
    const files = await openFileStore(`file:${root}`)
    expect(await readdir(unfinished)).toEqual(['current'])
    await abandon()
    await files.delete('labels/erased.pdf')
    expect(await readdir(unfinished)).toEqual(['current'])
  })

  it('a directory that cannot be used stops the start', async () => {
    await writeFile(path.join(home, 'file'), '')
    for (const url of [
      `file:${home}/file`,
      `file:${home}/file/below`,
      'file:/proc/x',
      'file:relative/path',
      'file:/files?region=x',
      'file:/files#x',
      'file://elsewhere/files',
      'file:/bad%2Fslash',
    ]) {
      await expectRefused(url)
    }
  })
})

describe('a bucket', () => {
  /** Speaks as much of S3 as a store needs, path style, and checks each signature. The first requests fail as told. */
  async function bucketServer({
    failures = [] as ('503' | 'closed')[],
    secret = SECRET,
    isChunked = false,
  } = {}) {
    const objects = new Map<string, { bytes: Buffer; type: string }>()
    const requests: { request: string; headers: IncomingHttpHeaders }[] = []
    const { port } = await startWebServer(async (req, res) => {
      const body = await buffer(req)
      const failure = failures.shift()
      if (failure === 'closed') return req.socket.destroy()
      if (failure) return res.writeHead(Number(failure)).end()
      const [key = ''] = req.url!.split('?')
      requests.push({ request: `${req.method} ${key}`, headers: req.headers })
      expect(req.headers['x-amz-acl']).toBeUndefined()
      expect(req.headers['x-amz-content-sha256']).toBe(hash('sha256', body))
      expect(req.headers.authorization).toMatch(/Signature=[0-9a-f]{64}$/)
      expect(req.headers.authorization).toContain(`Signature=${signatureOf(req, secret)}`)
      if (req.method === 'PUT') {
        objects.set(key, { bytes: body, type: String(req.headers['content-type']) })
        return res.end()
      }
      if (req.method === 'DELETE') {
        objects.delete(key)
        return res.writeHead(204).end()
      }
      const found = objects.get(key)
      if (!found) return res.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
      if (!isChunked) res.setHeader('content-length', found.bytes.length)
      res.write(found.bytes)
      res.end()
    })
    const url = (path: string) =>
      `s3://${path}?region=eu-west-1&endpoint=http://127.0.0.1:${port}&force_path_style=true`
    return { url, objects, requests }
  }

  /** The signature of a request by AWS's description of version 4. */
  function signatureOf({ method, url, headers }: IncomingMessage, secret: string): string {
    const scope = headers.authorization!.match(/Credential=[^/]+\/([^,]+)/)![1]!
    const names = headers.authorization!.match(/SignedHeaders=([^,]+)/)![1]!
    const signed = names.split(';').map((name) => `${name}:${headers[name]}\n`)
    const payload = String(headers['x-amz-content-sha256'])
    const canonical = [method, url, '', signed.join(''), names, payload].join('\n')
    const time = String(headers['x-amz-date'])
    const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n')
    const sign = (key: Buffer, value: string) => createHmac('sha256', key).update(value).digest()
    return sign(scope.split('/').reduce(sign, Buffer.from(`AWS4${secret}`)), text).toString('hex')
  }

  it('a bucket stores files under its prefix, with the credentials of the environment', async () => {
    const { url, objects, requests } = await bucketServer()
    const files = await openFileStore(url('card-files/shop one/'))
    await files.put('photos/x.jpg', BYTES, 'image/jpeg')
    expect(Object.fromEntries(objects)).toEqual({
      '/card-files/shop%20one/photos/x.jpg': { bytes: BYTES, type: 'image/jpeg' },
    })
    expect(requests[0]?.headers.authorization).toMatch(
      /Credential=key-of-tests\/\d+\/eu-west-1\/s3\//,
    )
    await expectToKeep(files)
  })

  it('a bucket without a prefix stores files at its root', async () => {
    const { url, requests } = await bucketServer()
    await expectToKeep(await openFileStore(url('card-files')))
    expect(requests[0]?.request).toBe('PUT /card-files/photos/a-b_c.jpg')
  })

  it('a file is read from a bucket that responds without its length', async () => {
    const { url } = await bucketServer({ isChunked: true })
    const files = await openFileStore(url('card-files'))
    await files.put('photos/x.jpg', BYTES, 'image/jpeg')
    const found = await files.get('photos/x.jpg')
    expect(found).toMatchObject({ length: undefined })
    expect(await buffer(found!.stream)).toEqual(BYTES)
  })

  it('a failing bucket is reported as an error, not as a missing file', async () => {
    const { port } = await startWebServer((_, res) => res.writeHead(403).end())
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    await expect(files.get('photos/x.jpg')).rejects.toThrow()
    await expect(files.put('photos/x.jpg', BYTES, 'image/jpeg')).rejects.toThrow()
  })

  it.each([
    ['of S3 for a missing bucket', '<Error><Code>NoSuchBucket</Code></Error>', /404 NoSuchBucket$/],
    ['of a proxy whose backend is gone', '404 page not found', /with 404$/],
    ['without a body', '', /with 404$/],
  ])('a 404 %s is an error, also for a deletion, not a missing file', async (_, body, reason) => {
    const { port } = await startWebServer((_, res) => res.writeHead(404).end(body))
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    await expect(files.get('photos/x.jpg')).rejects.toThrow(reason)
    await expect(files.delete('photos/x.jpg')).rejects.toThrow(reason)
  })

  it('a service that answers the deletion of a missing file with NoSuchKey has no such file', async () => {
    const { port } = await startWebServer((_, res) =>
      res.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>'),
    )
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    await files.delete('photos/x.jpg')
    await expect(files.put('photos/x.jpg', BYTES, 'image/jpeg')).rejects.toThrow(/NoSuchKey$/)
  })

  it('a bucket that denies to read a file is an error that names the permission ListBucket', async () => {
    const { port } = await startWebServer((_, res) =>
      res.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>'),
    )
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    await expect(files.get('photos/x.jpg')).rejects.toThrow(
      'the bucket responded to GET with 403 AccessDenied: without the permission ListBucket, it does so for a missing file',
    )
    await expect(files.put('photos/x.jpg', BYTES, 'image/jpeg')).rejects.toThrow(/AccessDenied$/)
  })

  it('a request that the bucket loses or refuses for a moment is repeated', async () => {
    const { url, objects } = await bucketServer({ failures: ['503', 'closed'] })
    const files = await openFileStore(url('card-files'))
    await files.put('photos/x.jpg', BYTES, 'image/jpeg')
    expect(objects.get('/card-files/photos/x.jpg')?.bytes).toEqual(BYTES)
  })

  it.each([
    ['503 SlowDown', '<Error><Code>SlowDown</Code><Message>AKIA-key</Message></Error>'],
    ['429', `<Error><Code>${'A'.repeat(10_000)}</Code></Error>`],
    ['500 InternalError', `<Error><Code>InternalError</Code>${' '.repeat(1_000_000)}</Error>`],
    ['502', `${' '.repeat(1_000_000)}<Error><Code>TooLate</Code></Error>`],
  ])(
    'a request that a bucket refuses three times is an error with status and code, whose length is limited: %s',
    async (reason, body) => {
      let requests = 0
      const { port } = await startWebServer((_, res) => {
        requests++
        res.writeHead(Number(reason.slice(0, 3))).end(body)
      })
      const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
      const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
      const error = await files.put('photos/x.jpg', BYTES, 'image/jpeg').catch((error) => error)
      expect(error.message).toBe(`the bucket responded to PUT with ${reason}`)
      expect(requests).toBe(3)
    },
  )

  it('an error of a bucket whose response breaks off has the status', async () => {
    const { port } = await startWebServer((_, res) => {
      res.writeHead(403, { 'content-length': 1_000 }).write('<Error>')
      setImmediate(() => res.destroy())
    })
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    await expect(files.delete('photos/x.jpg')).rejects.toThrow(/responded to DELETE with 403$/)
  })

  it('an aborted upload to a bucket that hangs ends its request', async () => {
    const arrived = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const { port } = await startWebServer((req) => {
      req.socket.once('close', closed.resolve)
      arrived.resolve()
    })
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    const stopping = new AbortController()
    const upload = files.put('photos/x.jpg', BYTES, 'image/jpeg', stopping.signal)
    await arrived.promise
    stopping.abort(new Error('stopping'))
    await expect(upload).rejects.toThrow('stopping')
    await closed.promise
    const late = files.put('photos/x.jpg', BYTES, 'image/jpeg', stopping.signal)
    await expect(late).rejects.toThrow('stopping')
  })

  it('an upload to a bucket may take longer than the response to a read', async () => {
    const reading = Promise.withResolvers<void>()
    const { port } = await startWebServer(async (req, res) => {
      if (req.method === 'GET') return
      await reading.promise
      res.end()
    })
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openBucket(`s3://card-files?region=eu-west-1&${endpoint}`, {
      responseMs: 1,
    })
    const upload = files.put('photos/x.jpg', BYTES, 'image/jpeg')
    await expect(files.get('photos/x.jpg')).rejects.toThrow('Headers Timeout')
    reading.resolve()
    await upload
  })

  it('the repetitions of an upload to a bucket do not prolong its time', async () => {
    const { port } = await startWebServer((_, res) => {
      res.statusCode = 503
      res.end()
    })
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    // It ends before the first repetition.
    const files = await openBucket(`s3://card-files?region=eu-west-1&${endpoint}`, { uploadMs: 50 })
    await expect(files.put('photos/x.jpg', BYTES, 'image/jpeg')).rejects.toThrow('timeout')
  })

  it('without keys, a bucket uses the role of the container or the machine, and renews it', async () => {
    let issued = 0
    const { port } = await startWebServer((req, res) => {
      const role = '/latest/meta-data/iam/security-credentials/'
      if (req.url === '/latest/api/token' && req.method === 'PUT') return res.end('session')
      const isMachine = req.headers['x-aws-ec2-metadata-token'] === 'session'
      if (req.url === role && isMachine) return res.end('shop')
      const isKnown = isMachine ? req.url === `${role}shop` : req.headers.authorization === 'pod'
      if (!isKnown) return res.writeHead(401).end()
      issued++
      const lifetimeMs = issued === 1 ? 60_000 : 3_600_000
      const Expiration = new Date(Date.now() + lifetimeMs).toISOString()
      const Token = `token-${issued}`
      res.end(JSON.stringify({ AccessKeyId: 'role', SecretAccessKey: 'hush', Token, Expiration }))
    })
    const address = `http://127.0.0.1:${port}`
    const tokenFile = path.join(home, 'token')
    await writeFile(tokenFile, 'pod\n')
    for (const environment of [
      {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${address}/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
      },
      { AWS_EC2_METADATA_SERVICE_ENDPOINT: address },
    ]) {
      issued = 0
      const { url, requests } = await bucketServer({ secret: 'hush' })
      const files = await openBucket(url('card-files'), { environment })
      await expectToKeep(files)
      const tokens = requests.map(({ headers }) => headers['x-amz-security-token'])
      // The first credentials expire soon.
      expect(tokens).toEqual(['token-1', ...tokens.slice(1).map(() => 'token-2')])
    }
    const environment = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `${address}/elsewhere` }
    const files = await openBucket('s3://card-files?region=eu-west-1', { environment })
    await expect(files.get('photos/x.jpg')).rejects.toThrow('no credentials')
  })

  it('credentials of a role that can’t be renewed are used until they expire, and are renewed again after a while', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const startedAt = Date.now()
    const at = (seconds: number) => vi.setSystemTime(startedAt + seconds * 1_000)
    let asked = 0
    let isFailing = false
    const { port } = await startWebServer((_, res) => {
      asked++
      // The second failure is a role without permission: the response is 200 nevertheless.
      if (isFailing) return res.writeHead(asked === 2 ? 500 : 200).end('{"Code":"Unauthorized"}')
      const Expiration = new Date(Date.now() + 360_000).toISOString()
      const Token = `token-${asked}`
      res.end(JSON.stringify({ AccessKeyId: 'role', SecretAccessKey: 'hush', Token, Expiration }))
    })
    const { url, requests } = await bucketServer({ secret: 'hush' })
    const warnings: unknown[] = []
    const log = { warn: (_: unknown, message: string) => warnings.push(message) } as never
    const environment = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${port}/credentials`,
    }
    const files = await openBucket(url('card-files'), { environment, log })
    const useTwice = async () => {
      for (let i = 0; i < 2; i++) await files.put('photos/x.jpg', BYTES, 'image/jpeg')
      return [asked, requests.at(-1)?.headers['x-amz-security-token']]
    }
    expect([await useTwice(), warnings]).toEqual([[1, 'token-1'], []])
    isFailing = true
    at(200)
    expect(await useTwice()).toEqual([2, 'token-1'])
    at(240)
    expect(await useTwice()).toEqual([3, 'token-1'])
    const warning = 'cannot renew the credentials of the bucket; using the current ones'
    expect(warnings).toEqual([warning, warning])
    at(361)
    await expect(useTwice()).rejects.toThrow(
      'the credentials of the role have expired and cannot be renewed',
    )
    isFailing = false
    expect(await useTwice()).toEqual([5, 'token-5'])
  })

  it.each([
    ['s3://cards?region=eu-west-1', 'https://cards.s3.eu-west-1.amazonaws.com/'],
    ['s3://cards/a shop/?region=eu-west-1', 'https://cards.s3.eu-west-1.amazonaws.com/a%20shop/'],
    ['s3://cards.shop?region=eu-west-1', 'https://s3.eu-west-1.amazonaws.com/cards.shop/'],
    ['s3://cards', 'https://cards.s3.us-east-1.amazonaws.com/'],
    ['s3://cards/x?endpoint=https://storage.test:9000', 'https://cards.storage.test:9000/x/'],
    [
      's3://cards/x?endpoint=http://storage.test/s3/&force_path_style=true',
      'http://storage.test/s3/cards/x/',
    ],
  ])('the files of %s are below %s', (url, root) => {
    expect(readBucketUrl(new URL(url), 'us-east-1').root).toBe(root)
  })

  it('an invalid bucket URL stops the start', async () => {
    for (const url of [
      's3://',
      's3:///prefix',
      's3://bucket', // no region anywhere
      's3://bucket?region=',
      's3://bucket?region=eu/west',
      's3://[::1]?region=eu-west-1',
      's3://bucket?zone=eu-west-1',
      's3://bucket?region=eu-west-1&endpoint=minio:9000',
      's3://bucket?region=eu-west-1&endpoint=http://',
      's3://bucket?region=eu-west-1&endpoint=http://minio:9000/%3Fx=1',
      's3://bucket?region=eu-west-1&endpoint=http://key:hush@minio:9000',
      's3://bucket?region=eu-west-1&endpoint=http://10.0.0.1:9000',
      's3://bucket?region=eu-west-1&endpoint=http://[::1]:9000',
      's3://bucket?region=eu-west-1&force_path_style=yes',
      's3://bucket:9000?region=eu-west-1',
      's3://bucket/a%00b?region=eu-west-1',
      's3://bucket/100%?region=eu-west-1',
      's3://bucket/../x?region=eu-west-1#x',
      's3://key:hush@bucket?region=eu-west-1',
    ]) {
      await expectRefused(url)
    }
  })

  it('a bucket takes its region from AWS_REGION', async () => {
    vi.stubEnv('AWS_REGION', 'eu-west-1')
    await openFileStore('s3://bucket')
    vi.stubEnv('AWS_REGION', undefined)
  })
})

/** With one line that names the setting and shows no secret. */
async function expectRefused(url: string): Promise<void> {
  const error = await openFileStore(url).catch((error) => error)
  expect(error, url).toBeInstanceOf(StartError)
  expect(error.message).toMatch(/^STORAGE_URL.*\.?$/)
  expect(error.message).not.toMatch(/hush|\n/)
}
