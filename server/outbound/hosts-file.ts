import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

/** How long an edit of the file may go unnoticed. */
const CHECK_INTERVAL_MS = 1_000

type Hosts = Map<string, string[]>

/**
 * The addresses that a hosts file has for a name, IPv4 first, or undefined. The name is in lower case, without a dot
 * at its end. A file that isn't there has no names; one that can't be read at the moment keeps those it had.
 */
export function hostsFile(path: string): (name: string) => string[] | undefined {
  let hosts: Hosts = new Map()
  let seen = ''
  let lookAgainAt = 0

  // Synchronous, as all threads that would read the file may be busy. Looking takes 2 µs, reading only follows a change.
  const look = () => {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
    const version = stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : ''
    if (version === seen) return
    hosts = stat ? parse(readFileSync(path, 'utf8')) : new Map()
    seen = version
  }

  return (name) => {
    if (performance.now() >= lookAgainAt) {
      lookAgainAt = performance.now() + CHECK_INTERVAL_MS
      try {
        look()
      } catch {
        // Out of file handles, or no right to read it: next time, perhaps.
      }
    }
    return hosts.get(name)?.slice()
  }
}

/** `address name alias … # comment`; a name may stand on several lines. */
function parse(text: string): Hosts {
  const hosts: Hosts = new Map()
  for (const line of text.toLowerCase().split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const written of names) {
      const name = written.replace(/\.$/, '')
      const known = hosts.get(name)
      if (known) known.push(address)
      else hosts.set(name, [address])
    }
  }
  for (const addresses of hosts.values()) addresses.sort((one, other) => isIP(one) - isIP(other))
  return hosts
}
