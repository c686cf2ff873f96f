import { readFile } from 'node:fs/promises'
import { request } from 'undici'
import type { Log } from '../log.ts'
import { realTime } from '../time/real-time.ts'

/** Signs requests to AWS. The credentials of a role have a token and expire. */
export type AwsCredentials = {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** Addresses of AWS that only its machines and containers reach. */
const CONTAINERS = 'http://169.254.170.2'
const MACHINES = 'http://169.254.169.254'
const ROLE_PATH = '/latest/meta-data/iam/security-credentials/'
/** AWS issues new credentials five minutes or more before the old ones expire. */
const REFRESH_BEFORE_MS = 4 * 60_000
/** Time between a failed renewal and the next one, while the current credentials are valid. */
const RETRY_AFTER_MS = 30_000
const TIMEOUT_MS = 5_000

/**
 * Returns a function that resolves to credentials that are valid now: those of the environment, otherwise those of the role
 * of the container or the machine, read again before they expire. After a failure, these are used until they expire.
 *
 * @param environment the variables that AWS defines for all of its clients
 */
export function awsCredentials(
  environment: NodeJS.ProcessEnv,
  log?: Pick<Log, 'warn'> | undefined,
): () => Promise<AwsCredentials> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment
  if (accessKeyId && secretAccessKey) {
    return async () => ({
      accessKeyId,
      secretAccessKey,
      sessionToken: environment.AWS_SESSION_TOKEN,
    })
  }
  return renewing(() => roleCredentials(environment), log)
}

/** Keeps the credentials that `read` returns, and reads them again before they expire. */
function renewing(
  read: () => Promise<RoleCredentials>,
  log: Pick<Log, 'warn'> | undefined,
): () => Promise<AwsCredentials> {
  let current: RoleCredentials | undefined
  let renewAt = 0
  let renewal: Promise<RoleCredentials> | undefined

  async function renew(): Promise<RoleCredentials> {
    try {
      current = await read()
      renewAt = current.expiresAt - REFRESH_BEFORE_MS
      return current
    } catch (error) {
      const now = realTime()
      if (current && now < current.expiresAt) {
        renewAt = now + RETRY_AFTER_MS
        const expiresAt = new Date(current.expiresAt)
        log?.warn(
          { err: error, expiresAt },
          'cannot renew the credentials of the bucket; using the current ones',
        )
        return current
      }
      const problem = current
        ? 'the credentials of the role have expired and cannot be renewed'
        : 'no credentials for the bucket: neither AWS_ACCESS_KEY_ID nor a role'
      throw new Error(problem, { cause: error })
    } finally {
      renewal = undefined
    }
  }

  return async () => {
    if (current && realTime() < renewAt) return current
    // Concurrent requests share one renewal.
    renewal ??= renew()
    return renewal
  }
}

type RoleCredentials = AwsCredentials & { expiresAt: number }

async function roleCredentials(environment: NodeJS.ProcessEnv): Promise<RoleCredentials> {
  // An empty variable counts as absent.
  const path = environment.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI
  const url = environment.AWS_CONTAINER_CREDENTIALS_FULL_URI || (path && CONTAINERS + path)
  return parse(await (url ? ofContainer(url, environment) : ofMachine(environment)))
}

async function ofContainer(url: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const file = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
  const authorization = file
    ? (await readFile(file, 'utf8')).trim()
    : environment.AWS_CONTAINER_AUTHORIZATION_TOKEN
  return read(url, authorization ? { authorization } : {})
}

async function ofMachine(environment: NodeJS.ProcessEnv): Promise<string> {
  const root = environment.AWS_EC2_METADATA_SERVICE_ENDPOINT || MACHINES
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' }
  const headers = {
    'x-aws-ec2-metadata-token': await read(`${root}/latest/api/token`, ttl, 'PUT'),
  }
  const [role = ''] = (await read(root + ROLE_PATH, headers)).split('\n')
  return read(`${root}${ROLE_PATH}${role}`, headers)
}

async function read(
  url: string,
  headers: Record<string, string>,
  method: 'GET' | 'PUT' = 'GET',
): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const { statusCode, body } = await request(url, { method, headers, signal })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${url} responded with ${statusCode}`)
  return text
}

function parse(text: string): RoleCredentials {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text)
  // A machine reports a role that it may not use with the status 200.
  if (!AccessKeyId || !SecretAccessKey) throw new Error('the role has no credentials')
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    // Credentials without a time don't expire.
    expiresAt: Date.parse(Expiration) || Number.POSITIVE_INFINITY,
  }
}
