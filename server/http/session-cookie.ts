import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { SESSION_DAYS } from '../members/sessions.ts'

/**
 * The cookie of a member's session. With the prefix `__Host-`, browsers accept it only over https and for this host, so
 * that no other host of the domain can set it.
 */
export const sessionCookieName = ({ publicUrl }: Pick<Config, 'publicUrl'>) =>
  publicUrl.startsWith('https:') ? '__Host-cardstall' : 'cardstall'

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax'
const SESSION_SECONDS = SESSION_DAYS * 24 * 60 * 60

/** The white space that may separate two cookies. Any other one belongs to the name, which then lacks the prefix. */
const SEPARATION = /^[ \t]+/

/** The session's secret in a request; undefined if it has none. The first cookie with the name counts. */
export function sessionToken({ headers }: FastifyRequest, config: Config): string | undefined {
  const lead = `${sessionCookieName(config)}=`
  for (const part of headers.cookie?.split(';') ?? []) {
    const pair = part.replace(SEPARATION, '')
    if (pair.startsWith(lead)) return pair.slice(lead.length)
  }
  return undefined
}

export const setSessionCookie = (reply: FastifyReply, config: Config, token: string) =>
  reply.header('set-cookie', cookie(config, token, SESSION_SECONDS))

export const clearSessionCookie = (reply: FastifyReply, config: Config) =>
  reply.header('set-cookie', cookie(config, '', 0))

function cookie(config: Config, value: string, maxAge: number): string {
  const secure = config.publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${sessionCookieName(config)}=${value}; Max-Age=${maxAge}; ${ATTRIBUTES}${secure}`
}
