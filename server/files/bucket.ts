import type { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
} from '@aws-sdk/client-s3'
import { StartError } from '../start-error.ts'
import type { FileStore } from './file-store.ts'

const CONNECT_TIMEOUT_MS = 5_000
const RESPONSE_TIMEOUT_MS = 20_000
const MAX_ATTEMPTS = 3

const FORM = 's3://bucket/prefix?region=…&endpoint=https://…&force_path_style=true'

/**
 * Stores files in a bucket of S3 or of a compatible service. The AWS client finds the credentials in its usual places
 * (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, the role of the machine).
 *
 * @throws StartError if the URL is invalid or no region is set
 */
export async function openBucket(storageUrl: string): Promise<FileStore> {
  const { bucket, prefix, region, endpoint, forcePathStyle } = readBucketUrl(new URL(storageUrl))
  const client = new S3Client({
    region,
    endpoint,
    forcePathStyle,
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: RESPONSE_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
    // Many compatible services reject the client's default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  try {
    await client.config.region()
  } catch {
    throw new StartError('STORAGE_URL needs a region: add ?region=… to it, or set AWS_REGION.')
  }
  const object = (name: string) => ({ Bucket: bucket, Key: prefix + name })

  return {
    async put(name, bytes, contentType) {
      await client.send(
        new PutObjectCommand({ ...object(name), Body: bytes, ContentType: contentType }),
      )
    },

    async get(name) {
      try {
        const { Body, ContentLength } = await client.send(new GetObjectCommand(object(name)))
        const stream = Body as Readable
        // The connection may break before the stream is read: an unhandled error event would end the process.
        stream.on('error', () => {})
        return { stream, length: ContentLength! }
      } catch (error) {
        if ((error as S3ServiceException).$metadata?.httpStatusCode === 404) return undefined
        throw error
      }
    },

    async delete(name) {
      await client.send(new DeleteObjectCommand(object(name)))
    },
  }
}

function readBucketUrl(url: URL) {
  const { region, endpoint, force_path_style, ...unknown } = Object.fromEntries(url.searchParams)
  const prefix = url.pathname.replaceAll('%20', ' ').replace(/^\/+|\/+$/g, '')
  // No message contains the URL, because it may contain credentials.
  if (url.username || url.password) {
    throw new StartError(
      'STORAGE_URL must not contain credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    )
  }
  const isValid =
    url.hostname !== '' &&
    url.port === '' &&
    url.hash === '' &&
    Object.keys(unknown).length === 0 &&
    region !== '' &&
    (endpoint === undefined || /^https?:\/\/./.test(endpoint)) &&
    (endpoint === undefined || URL.canParse(endpoint)) &&
    [undefined, 'true', 'false'].includes(force_path_style) &&
    /^[\w!./ -]*$/.test(prefix)
  if (!isValid) throw new StartError(`STORAGE_URL must look like ${FORM}.`)
  return {
    bucket: url.hostname,
    prefix: prefix && `${prefix}/`,
    region,
    endpoint,
    forcePathStyle: force_path_style === 'true',
  }
}
