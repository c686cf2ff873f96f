import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { whenFileEnds } from '../when-file-ends.ts'

/** What the server says of a name: its records, or a failure. A family that's left out has no records. */
export type Said =
  | Failure
  | { A?: string[] | Failure; AAAA?: string[] | Failure; ttl?: number }
  | Alias
type Alias = { CNAME: string }
type Failure = keyof typeof FAILURES | 'silence'

export type DnsServer = {
  /** As `Resolver.setServers` takes it. */
  address: string
  /** By name in lower case; one that isn't here doesn't exist. A function is asked each time. */
  names: Map<string, Said | (() => Said | Promise<Said>)>
  /** The questions that came, as `A shop.example`. */
  asked: string[]
}

const FAILURES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 }
const TYPES = { A: 1, CNAME: 5, AAAA: 28 }

const sockets = new Set<Socket>()

/** A DNS server on a free UDP port of the loopback, gone after the tests. It knows the names that it's given. */
export async function startDnsServer(names: Record<string, Said> = {}): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const server: DnsServer = { address: '', names: new Map(Object.entries(names)), asked: [] }
  socket.on('message', async (query, { port, address }) => {
    const answer = await answerTo(query, server)
    // A test that ended may have left a question behind.
    if (answer && sockets.has(socket)) socket.send(answer, port, address)
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

/** RFC 1035, as much of it as there is to say. */
async function answerTo(query: Buffer, server: DnsServer): Promise<Buffer | undefined> {
  const { name, type, end } = questionOf(query)
  server.asked.push(`${type} ${name}`)
  const { failure, records } = await replyOf(server.names, name.toLowerCase(), type)
  if (failure === 'silence') return undefined
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  // An answer, recursion was desired and is available; one question.
  header.writeUInt16BE(0x8180 | (failure ? FAILURES[failure] : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

async function replyOf(names: DnsServer['names'], name: string, type: string): Promise<Reply> {
  const known = names.get(name) ?? 'NXDOMAIN'
  const said = typeof known === 'function' ? await known() : known
  if (typeof said === 'string') return { failure: said, records: [] }
  if ('CNAME' in said) {
    const { failure, records } = await replyOf(names, said.CNAME, type)
    return { failure, records: [recordOf(name, 'CNAME', 300, nameToBytes(said.CNAME)), ...records] }
  }
  if (type !== 'A' && type !== 'AAAA') return { records: [] }
  const found = said[type] ?? []
  if (typeof found === 'string') return { failure: found, records: [] }
  const { ttl = 300 } = said
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

function recordOf(name: string, type: keyof typeof TYPES, ttl: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(TYPES[type], 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(ttl, 4)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([nameToBytes(name), fixed, data])
}

const nameToBytes = (name: string) =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ])

/** IPv6 written out in full: eight groups, none left out. */
const addressToBytes = (address: string) =>
  isIPv4(address)
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(
        address
          .split(':')
          .flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]),
      )
