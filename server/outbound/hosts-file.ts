import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

/** Maximum delay until a change of the file takes effect. */
const CHECK_INTERVAL_MS = 1_000

type Hosts = Map<string, string[]>

/**
 * Looks up the addresses of a name in a hosts file, IPv4 first; undefined if the file does not list it. The name must be
 * in lower case without a trailing dot. A missing file is empty; if it becomes unreadable, its last contents are used.
 */
export function hostsFile(path: string): (name: string) => string[] | undefined {
  let hosts: Hosts = new Map()
  let loadedVersion = ''
  let checkAt = 0

  // Synchronous, because the process's I/O threads may be blocked. The check takes 2 µs; only a changed file is read.
  const reload = () => {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
    const version = stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : ''
    if (version === loadedVersion) return
    hosts = stat ? parse(readFileSync(path, 'utf8')) : new Map()
    loadedVersion = version
  }

  return (name) => {
    if (performance.now() >= checkAt) {
      checkAt = performance.now() + CHECK_INTERVAL_MS
      try {
        reload()
      } catch {
        // No file handles, or no permission: the next check retries.
      }
    }
    return hosts.get(name)?.slice()
  }
}

/** Parses lines of the form `address name alias … # comment`. Several lines may list the same name. */
function parse(text: string): Hosts {
  const hosts: Hosts = new Map()
  for (const line of text.toLowerCase().split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const dotted of names) {
      hosts.getOrInsert(dotted.replace(/\.$/, ''), []).push(address)
    }
  }
  for (const addresses of hosts.values()) addresses.sort((a, b) => isIP(a) - isIP(b))
  return hosts
}
