import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { SETTING_NAMES } from '../../settings/settings.ts'

const textOf = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')

type Service = {
  build?: string
  image?: string
  environment: Record<string, string>
  env_file?: string[]
} & Record<string, unknown>

const { services } = parse(textOf('compose.yaml'), { merge: true }) as {
  services: Record<string, Service>
}
const example = Object.keys(parseEnv(textOf('.env.example')))
/** Settings that only compose.yaml uses: the service gets them as parts of addresses. */
const PASSWORDS = ['POSTGRES_PASSWORD', 'VALKEY_PASSWORD']

/** Resolves `${NAME:-default}` and `${NAME:?message}` as compose does; they may be nested. */
function interpolate(text: string, dotEnv: Record<string, string>): string {
  const innermost = /\$\{([A-Z_]+):([-?])([^${}]*)\}/
  const replaced = text.replace(innermost, (_, name: string, kind: string, otherwise: string) => {
    if (dotEnv[name]) return dotEnv[name]
    if (kind === '?') throw new Error(otherwise)
    return otherwise
  })
  return replaced === text ? text : interpolate(replaced, dotEnv)
}

describe('compose.yaml', () => {
  const { cardstall } = services as { cardstall: Service }

  it.each(SETTING_NAMES.filter((name) => name !== 'DATA_DIR'))(
    'compose.yaml passes %s from .env to the service',
    (name) => {
      const dotEnv = Object.fromEntries(
        [...SETTING_NAMES, ...PASSWORDS].map((setting) => [setting, `the ${setting} of .env`]),
      )
      expect(cardstall.env_file).toEqual(['.env'])
      const own = cardstall.environment[name]
      expect(own === undefined ? dotEnv[name] : interpolate(own, dotEnv)).toBe(dotEnv[name])
    },
  )

  it('the files of the container are in the volume that the image made for its user, whatever DATA_DIR of .env says', () => {
    const dotEnv = { DATA_DIR: '/srv/files' }
    const { DATA_DIR = '' } = cardstall.environment
    const [, ofImage] = /^ENV .*\bDATA_DIR=(\S+)/m.exec(textOf('Dockerfile'))!
    expect(interpolate(DATA_DIR, dotEnv)).toBe(ofImage)
    const volumes = cardstall.volumes as string[]
    expect(volumes.map((volume) => interpolate(volume, dotEnv))).toContain(`files:${ofImage}`)
    expect(textOf('Dockerfile')).toMatch(new RegExp(`chown node:node .*${ofImage}\\b`))
  })

  it('compose.yaml connects the service to its PostgreSQL and Valkey by default', () => {
    const dotEnv = { POSTGRES_PASSWORD: 'pg', VALKEY_PASSWORD: 'vk' }
    const { DATABASE_URL = '', REDIS_URL = '', HOST = '' } = cardstall.environment
    expect(interpolate(DATABASE_URL, dotEnv)).toBe(
      'postgres://cardstall:pg@postgres:5432/cardstall',
    )
    expect(interpolate(REDIS_URL, dotEnv)).toBe('redis://:vk@valkey:6379')
    expect(interpolate(HOST, dotEnv)).toBe('0.0.0.0')
    expect(() => interpolate(DATABASE_URL, {})).toThrow('set POSTGRES_PASSWORD in .env')
  })

  it('compose.yaml trusts the addresses of Docker’s networks as proxies, and opens the port on this machine only', () => {
    const { TRUST_PROXY = '' } = cardstall.environment
    expect(interpolate(TRUST_PROXY, {})).toBe('172.16.0.0/12,192.168.0.0/16')
    expect(cardstall.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)])
  })

  it('the service waits for a PostgreSQL that answers over TCP, as the temporary server of a first start does not', () => {
    expect(cardstall.depends_on).toMatchObject({ postgres: { condition: 'service_healthy' } })
    const { test } = services.postgres!.healthcheck as { test: string[] }
    expect(test.join(' ')).toMatch(/^CMD pg_isready .*-h 127\.0\.0\.1\b/)
  })

  it.each(Object.entries(services))(
    'compose.yaml limits the privileges and memory of %s',
    (name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
      })
      const images = service.image
        ? [service.image]
        : textOf('Dockerfile').match(/(?<=^FROM )\S+/gm)
      for (const image of images ?? [])
        expect([name, image]).toEqual([name, expect.stringMatching(/:\d+\.\d+/)])
    },
  )
})

it.each(Object.entries(services))(
  'compose.yaml limits the log of %s, so that it does not fill the disk of the database',
  (_, { logging }) => {
    const size = { 'max-size': expect.stringMatching(/^\d+m$/), 'max-file': expect.any(String) }
    expect(logging).toEqual({ driver: 'local', options: size })
  },
)

describe('.env.example', () => {
  it('.env.example names only settings and passwords that compose.yaml uses', () => {
    const known: string[] = [...SETTING_NAMES, ...PASSWORDS]
    expect(example.filter((name) => !known.includes(name))).toEqual([])
    expect(example).toEqual(expect.arrayContaining(PASSWORDS))
  })
})
