import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { StartError } from '../start-error.ts'
import { startWebServer } from '../test/fakes/network.ts'
import type { FileStore } from './file-store.ts'
import { openFileStore } from './open.ts'

const BYTES = Buffer.from([0xff, 0xd8, 0, 1, 2, 3])

let home: string
beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'cardstall-store-'))
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key-of-tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-tests')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(home, { recursive: true })
})

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

  it('opening a directory removes abandoned unfinished files, but no recent ones', async () => {
    const root = await mkdtemp(path.join(home, 'killed-'))
    const unfinished = path.join(root, '.unfinished')
    await mkdir(unfinished)
    const [left, current] = ['left', 'current'].map((name) => path.join(unfinished, name))
    for (const file of [left!, current!]) await writeFile(file, 'half')
    await utimes(left!, 0, 0)
    await openFileStore(`file:${root}`)
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
  /** Speaks as much of S3 as a store needs, path style. */
  async function bucketServer() {
    const objects = new Map<string, { bytes: Buffer; type: string }>()
    const requests: { request: string; authorization: string }[] = []
    const { port } = await startWebServer(async (req, res) => {
      const [key = ''] = req.url!.split('?')
      const authorization = String(req.headers.authorization)
      requests.push({ request: `${req.method} ${key}`, authorization })
      expect(req.headers['x-amz-acl']).toBeUndefined()
      if (req.method === 'PUT') {
        objects.set(key, { bytes: await buffer(req), type: String(req.headers['content-type']) })
        return res.end()
      }
      if (req.method === 'DELETE') {
        objects.delete(key)
        return res.writeHead(204).end()
      }
      const found = objects.get(key)
      if (!found) return res.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
      res.setHeader('content-length', found.bytes.length)
      res.setHeader('last-modified', 'Thu, 01 Jan 2026 00:00:00 GMT')
      res.end(req.method === 'HEAD' ? undefined : found.bytes)
    })
    const url = (path: string) =>
      `s3://${path}?region=eu-west-1&endpoint=http://127.0.0.1:${port}&force_path_style=true`
    return { url, objects, requests }
  }

  it('a bucket stores files under its prefix, with the credentials of the environment', async () => {
    const { url, objects, requests } = await bucketServer()
    const files = await openFileStore(url('card-files/shop one/'))
    await files.put('photos/x.jpg', BYTES, 'image/jpeg')
    expect(Object.fromEntries(objects)).toEqual({
      '/card-files/shop%20one/photos/x.jpg': { bytes: BYTES, type: 'image/jpeg' },
    })
    expect(requests[0]?.authorization).toMatch(/Credential=key-of-tests\/\d+\/eu-west-1\/s3\//)
    await expectToKeep(files)
  })

  it('a bucket without a prefix stores files at its root', async () => {
    const { url, requests } = await bucketServer()
    await expectToKeep(await openFileStore(url('card-files')))
    expect(requests[0]?.request).toBe('PUT /card-files/photos/a-b_c.jpg')
  })

  it('a failing bucket is reported as an error, not as a missing file', async () => {
    const { port } = await startWebServer((_, res) => res.writeHead(403).end())
    const endpoint = `endpoint=http://127.0.0.1:${port}&force_path_style=true`
    const files = await openFileStore(`s3://card-files?region=eu-west-1&${endpoint}`)
    await expect(files.get('photos/x.jpg')).rejects.toThrow()
    await expect(files.put('photos/x.jpg', BYTES, 'image/jpeg')).rejects.toThrow()
  })

  it('an invalid bucket URL stops the start', async () => {
    vi.stubEnv('AWS_CONFIG_FILE', path.join(home, 'none'))
    for (const url of [
      's3://',
      's3:///prefix',
      's3://bucket', // no region anywhere
      's3://bucket?region=',
      's3://bucket?zone=eu-west-1',
      's3://bucket?region=eu-west-1&endpoint=minio:9000',
      's3://bucket?region=eu-west-1&endpoint=http://',
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
