import { S3Client } from '@aws-sdk/client-s3'
import { S3Driver } from 'flydrive/drivers/s3'
import { StartError } from '../start-error.ts'
import type { FileStore } from './file-store.ts'

const CONNECT_TIMEOUT_MS = 5_000
const ANSWER_TIMEOUT_MS = 20_000
const TRIES = 3

const FORM = 's3://bucket/prefix?region=…&endpoint=https://…&force_path_style=true'

/**
 * Files in a bucket of S3 or of something that speaks like it. Credentials are none of ours: the AWS client takes
 * them from its usual places (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, …).
 *
 * @throws StartError when the URL can't be used, or no region is known
 */
export async function openBucket(storageUrl: string): Promise<FileStore> {
  const { bucket, prefix, region, endpoint, forcePathStyle } = readBucketUrl(new URL(storageUrl))
  const client = new S3Client({
    region,
    endpoint,
    forcePathStyle,
    maxAttempts: TRIES,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: ANSWER_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
    // Checksums that aren't asked for are more than many services beside AWS understand.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  try {
    await client.config.region()
  } catch {
    throw new StartError('STORAGE_URL needs a region: add ?region=… to it, or set AWS_REGION.')
  }
  // Buckets of today have no ACLs and refuse requests that name one.
  const driver = new S3Driver({ client, bucket, visibility: 'private', supportsACL: false })

  return {
    put: (name, bytes, contentType) =>
      driver.put(prefix + name, bytes, { contentType, contentLength: bytes.byteLength }),

    async get(name) {
      try {
        const { contentLength: length } = await driver.getMetaData(prefix + name)
        const stream = await driver.getStream(prefix + name)
        // The connection may break before anybody reads: that must not bring the process down.
        stream.on('error', () => {})
        return { stream, length }
      } catch (error) {
        if ((error as S3Error).$metadata?.httpStatusCode === 404) return undefined
        throw error
      }
    },

    delete: (name) => driver.delete(prefix + name),
  }
}

type S3Error = { $metadata?: { httpStatusCode?: number } }

function readBucketUrl(url: URL) {
  const { region, endpoint, force_path_style, ...unknown } = Object.fromEntries(url.searchParams)
  const prefix = url.pathname.replaceAll('%20', ' ').replace(/^\/+|\/+$/g, '')
  // No message shows the URL: somebody may have put credentials into it.
  if (url.username || url.password) {
    throw new StartError(
      'STORAGE_URL must not hold credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    )
  }
  const isUnderstood =
    url.hostname !== '' &&
    url.port === '' &&
    url.hash === '' &&
    Object.keys(unknown).length === 0 &&
    region !== '' &&
    (endpoint === undefined || /^https?:\/\/./.test(endpoint)) &&
    (endpoint === undefined || URL.canParse(endpoint)) &&
    [undefined, 'true', 'false'].includes(force_path_style) &&
    /^[\w!./ -]*$/.test(prefix)
  if (!isUnderstood) throw new StartError(`STORAGE_URL must look like ${FORM}.`)
  return {
    bucket: url.hostname,
    prefix: prefix && `${prefix}/`,
    region,
    endpoint,
    forcePathStyle: force_path_style === 'true',
  }
}
