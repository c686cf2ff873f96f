import { hash } from 'node:crypto'
import path from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher, interceptors, request } from 'undici'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { awsCredentials } from './aws-credentials.ts'
import type { FileStore } from './file-store.ts'

const CONNECT_TIMEOUT_MS = 5_000
const RESPONSE_TIMEOUT_MS = 20_000
/**
 * Time of an upload with its response and repetitions: 300 KB at 7 KB/s. The kernel buffers a whole photo or label, so the
 * connection doesn't show whether bytes still flow. The leases of photos and labels depend on it.
 */
const UPLOAD_TIMEOUT_MS = 45_000
/** The response to the last attempt is returned: it has S3's code, which an error of undici's has not. */
const RETRIES = { maxRetries: 2, minTimeout: 100, maxTimeout: 1_000, throwOnError: false }
/** S3's errors have some hundred bytes. */
const MAX_ERROR_LENGTH = 16 * 1024

const FORM = 's3://bucket/prefix?region=…&endpoint=https://…&force_path_style=true'

/**
 * Stores files in a bucket of S3 or of a compatible service, with the credentials of aws-credentials.ts.
 *
 * @param options.environment the variables that AWS defines for all of its clients
 * @param options.responseMs maximum time until a response to a read or deletion begins, and between its bytes
 * @param options.uploadMs maximum time of an upload
 * @throws StartError if the URL is invalid or no region is set
 */
export async function openBucket(
  storageUrl: string,
  {
    environment = process.env,
    log,
    responseMs = RESPONSE_TIMEOUT_MS,
    uploadMs = UPLOAD_TIMEOUT_MS,
  }: {
    environment?: NodeJS.ProcessEnv
    log?: Pick<Log, 'warn'> | undefined
    responseMs?: number
    uploadMs?: number
  } = {},
): Promise<FileStore> {
  const { root, region } = readBucketUrl(new URL(storageUrl), environment.AWS_REGION)
  const dispatcher = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: responseMs,
    bodyTimeout: responseMs,
  }).compose(interceptors.retry(RETRIES))
  const credentials = awsCredentials(environment, log)

  /** Undefined if the object does not exist. */
  async function send(
    method: 'GET' | 'PUT' | 'DELETE',
    name: string,
    {
      body = null,
      headers = {},
      signal,
    }: {
      body?: Uint8Array | null
      headers?: Record<string, string>
      signal?: AbortSignal | undefined
    } = {},
  ): Promise<Dispatcher.ResponseData | undefined> {
    const signer = new AwsV4Signer({
      service: 's3',
      region,
      method,
      url: root + name,
      headers: { ...headers, 'x-amz-content-sha256': hash('sha256', body ?? '') },
      ...(await credentials()),
    })
    const signed = await signer.sign()
    const response = await request(signed.url, {
      method,
      headers: Object.fromEntries(signed.headers),
      body,
      dispatcher,
      // The signal of an upload limits its time.
      ...(method === 'PUT' && { headersTimeout: 0 }),
      signal,
    })
    const { statusCode } = response
    if (statusCode >= 200 && statusCode < 300) return response
    const code = await errorCode(response.body)
    // Any other 404 says nothing about the file: with a wrong STORAGE_URL, or a proxy whose backend is gone, deletions would
    // seem to be done.
    if (statusCode === 404 && method !== 'PUT' && code === 'NoSuchKey') return undefined
    // S3 hides from a client without ListBucket whether the file exists. A 404 would hide a wrong policy in turn.
    const hint =
      method === 'GET' && code === 'AccessDenied'
        ? ': without the permission ListBucket, it does so for a missing file'
        : ''
    throw new Error(`the bucket responded to ${method} with ${statusCode} ${code}`.trim() + hint)
  }

  return {
    async put(name, bytes, contentType, signal) {
      const headers = { 'content-type': contentType }
      const timeout = AbortSignal.timeout(uploadMs)
      const ended = signal ? AbortSignal.any([signal, timeout]) : timeout
      const response = await send('PUT', name, { body: bytes, headers, signal: ended })
      await response?.body.dump()
    },

    async get(name, signal) {
      const response = await send('GET', name, { signal })
      if (!response) return undefined
      const { body: stream, headers } = response
      // The connection may break before the stream is read: an unhandled error event would end the process.
      stream.on('error', () => {})
      const length = headers['content-length']
      return { stream, length: length === undefined ? undefined : Number(length) }
    },

    async delete(name) {
      const response = await send('DELETE', name)
      await response?.body.dump()
    },
  }
}

/** The code of S3's error; empty if the response is that of something else, such as a proxy. */
async function errorCode(body: Dispatcher.ResponseData['body']): Promise<string> {
  let text = ''
  try {
    for await (const chunk of body) {
      text += chunk
      if (text.length > MAX_ERROR_LENGTH) break
    }
  } catch {
    // The status says enough if the response breaks off.
  }
  return text.match(/<Code>(\w{1,64})<\/Code>/)?.[1] ?? ''
}

/**
 * The URL below which the bucket's files are, and its region.
 *
 * @throws StartError if `url` is invalid or there is no region
 */
export function readBucketUrl(url: URL, defaultRegion: string | undefined) {
  const { region, endpoint, force_path_style, ...unknown } = Object.fromEntries(url.searchParams)
  const prefix = url.pathname.replaceAll('%20', ' ').replace(/^\/+|\/+$/g, '')
  // No message contains the URL, because it may contain credentials.
  if (url.username || url.password) {
    throw new StartError(
      'STORAGE_URL must not contain credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    )
  }
  const isValid =
    /^[\w.-]+$/.test(url.hostname) &&
    url.port === '' &&
    url.hash === '' &&
    Object.keys(unknown).length === 0 &&
    (region === undefined || /^[\w-]+$/.test(region)) &&
    (endpoint === undefined || isEndpoint(endpoint)) &&
    [undefined, 'true', 'false'].includes(force_path_style) &&
    /^[\w!./ -]*$/.test(prefix)
  if (!isValid) throw new StartError(`STORAGE_URL must look like ${FORM}.`)
  const signedRegion = region ?? defaultRegion
  if (!signedRegion) {
    throw new StartError('STORAGE_URL needs a region: add ?region=… to it, or set AWS_REGION.')
  }
  const root = new URL(endpoint ?? `https://s3.${signedRegion}.amazonaws.com`)
  // The certificate of AWS covers no bucket with a dot as a part of the host name.
  if (force_path_style === 'true' || (!endpoint && url.hostname.includes('.'))) {
    root.pathname = path.posix.join(root.pathname, url.hostname)
  } else {
    const host = `${url.hostname}.${root.hostname}`.toLowerCase()
    root.hostname = host
    // A URL keeps its host instead of taking one that is not valid: an address has no part before it.
    if (root.hostname !== host) {
      throw new StartError(
        'STORAGE_URL needs force_path_style=true: the bucket cannot be a part of the host of this endpoint.',
      )
    }
  }
  root.pathname = path.posix.join(root.pathname, prefix, '/')
  return { root: root.href, region: signedRegion }
}

/** Whether the text is an http or https URL to which a path can be added. */
function isEndpoint(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    /^https?:\/\/./.test(text) &&
    !(url.username || url.password || url.search || url.hash)
  )
}
