import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The longest path of a Unix socket on Linux and macOS, in bytes. */
const MAX_PATH_BYTES = 103

export const DEFAULT_PORT = '5432'

const PREFIX = '.s.PGSQL.'

const pathIn = (folder: string, port: number | string) => join(folder, `${PREFIX}${port}`)

/** Whether a server can put its socket into this folder. */
export const fitsSocket = (folder: string, port: number): boolean =>
  process.platform !== 'win32' && Buffer.byteLength(pathIn(folder, port)) <= MAX_PATH_BYTES

/** The URL with the folder of the server's Unix socket, as PostgreSQL's own clients read it. */
export function withSocket(url: string, folder: string): string {
  const parsed = new URL(url)
  parsed.searchParams.set('host', folder)
  return parsed.href
}

/**
 * Separates the Unix socket of a URL (`postgres://name@localhost/cards?host=/run/postgresql`, or the folder percent-encoded
 * in place of the host) from the rest, because our client cannot read it.
 *
 * @returns `path` of the socket; undefined for a server that is reached over TCP
 */
export function splitSocket(url: string): { address: string; path: string | undefined } {
  if (!URL.canParse(url)) return { address: url, path: undefined }
  const parsed = new URL(url)
  const { hostname, port, searchParams } = parsed
  const folder = searchParams.get('host') ?? decodeURIComponent(hostname)
  if (!folder.startsWith('/')) return { address: url, path: undefined }
  const path = pathIn(folder, searchParams.get('port') ?? (port || DEFAULT_PORT))
  searchParams.delete('host')
  searchParams.delete('port')
  if (hostname) parsed.hostname = 'localhost'
  return { address: parsed.href, path }
}

/** Removes the sockets and their lock files that killed servers left behind. */
export async function removeSockets(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(PREFIX)) await rm(join(folder, name), { force: true })
  }
}
