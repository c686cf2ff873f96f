import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { whenFileEnds } from '../when-file-ends.ts'

/** The server's data for a name: its records, or a failure. A family that is absent has no records. */
export type NameData =
  | Failure
  | { A?: string[] | Failure; AAAA?: string[] | Failure; ttl?: number }
  | Alias
type Alias = { CNAME: string }
type Failure = keyof typeof FAILURES | 'silence'

export type DnsServer = {
  /** Its address in the format of `Resolver.setServers`. */
  address: string
  /** The data by name in lower case; other names do not exist. A function is called for each query. */
  names: Map<string, NameData | (() => NameData | Promise<NameData>)>
  /** The queries so far, for example `A shop.example`. */
  queries: string[]
}

const FAILURES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 }
const TYPES = { A: 1, CNAME: 5, AAAA: 28 }

const sockets = new Set<Socket>()

/** Starts a DNS server for these names on a free loopback port. It stops when the test file ends. */
export async function startDnsServer(names: Record<string, NameData> = {}): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const server: DnsServer = { address: '', names: new Map(Object.entries(names)), queries: [] }
  socket.on('message', async (query, { port, address }) => {
    const response = await responseTo(query, server)
    // The test may have ended in the meantime.
    if (response && sockets.has(socket)) socket.send(response, port, address)
  })
  sockets.add(socket)
  whenFileEnds(() => {
    sockets.delete(socket)
    socket.close()
  })
  await once(socket.bind(0, '127.0.0.1'), 'listening')
  server.address = `127.0.0.1:${socket.address().port}`
  return server
}

type Reply = { failure?: Failure; records: Buffer[] }

/** Builds a response (RFC 1035). */
async function responseTo(query: Buffer, server: DnsServer): Promise<Buffer | undefined> {
  const { name, type, end } = questionOf(query)
  server.queries.push(`${type} ${name}`)
  const { failure, records } = await replyOf(server.names, name.toLowerCase(), type)
  if (failure === 'silence') return undefined
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  // Flags: response, recursion desired and available. One question.
  header.writeUInt16BE(0x8180 | (failure ? FAILURES[failure] : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

async function replyOf(names: DnsServer['names'], name: string, type: string): Promise<Reply> {
  const known = names.get(name) ?? 'NXDOMAIN'
  const data = typeof known === 'function' ? await known() : known
  if (typeof data === 'string') return { failure: data, records: [] }
  if ('CNAME' in data) {
    const { failure, records } = await replyOf(names, data.CNAME, type)
    return { failure, records: [recordOf(name, 'CNAME', 300, nameToBytes(data.CNAME)), ...records] }
  }
  if (type !== 'A' && type !== 'AAAA') return { records: [] }
  const found = data[type] ?? []
  if (typeof found === 'string') return { failure: found, records: [] }
  const { ttl = 300 } = data
  return { records: found.map((address) => recordOf(name, type, ttl, addressToBytes(address))) }
}

function questionOf(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const number = query.readUInt16BE(at + 1)
  const type = Object.entries(TYPES).find(([, code]) => code === number)?.[0] ?? String(number)
  return { name: labels.join('.'), type, end: at + 5 }
}

function recordOf(name: string, type: keyof typeof TYPES, ttl: number, content: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(TYPES[type], 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(ttl, 4)
  fixed.writeUInt16BE(content.length, 8)
  return Buffer.concat([nameToBytes(name), fixed, content])
}

const nameToBytes = (name: string) =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ])

/** The bytes of an address; IPv6 must have all eight groups. */
const addressToBytes = (address: string) =>
  isIPv4(address)
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(
        address
          .split(':')
          .flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]),
      )
