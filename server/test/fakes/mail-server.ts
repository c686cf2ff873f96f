import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { whenFileEnds } from '../when-file-ends.ts'

/** A mail as it arrived, decoded by hand: what sends it has no part in reading it. */
export type Received = {
  /** The envelope: where it really went. */
  from: string
  to: string[]
  headers: Record<string, string>
  text: string
  /** Who had logged in. */
  user: string | undefined
}

export type MailServer = {
  port: number
  url: string
  received: Received[]
  /** Cuts off everybody who is connected. */
  hangUp(): void
}

/** A mail server on a free loopback port, without TLS, gone after the tests. It takes everything, unless told otherwise. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    authOptional: true,
    hideSize: true,
    closeTimeout: 1,
    ...options,
    async onData(stream, session, done) {
      const { mailFrom, rcptTo } = session.envelope
      const { headers, text } = parse(await textOf(stream))
      received.push({
        from: mailFrom ? mailFrom.address : '',
        to: rcptTo.map(({ address }) => address),
        headers,
        text,
        user: session.user,
      })
      if (options.onData) options.onData(stream, session, done)
      else done()
    },
  })
  whenFileEnds(() => void server.close())
  // Who hangs up is told to them as an error, too.
  server.on('error', () => {})
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    hangUp() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function parse(raw: string): Pick<Received, 'headers' | 'text'> {
  const end = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]/g, ' ')
    .split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]
    if (name.toLowerCase() in headers) throw new Error(`The mail has two headers ${name}`)
    headers[name.toLowerCase()] = decodeWords(value.trim())
  }
  const body = raw.slice(end + 4)
  const encoding = headers['content-transfer-encoding'] ?? '7bit'
  const text =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? quotedPrintable(body.replace(/=\r\n/g, ''))
        : body
  return { headers, text: text.replaceAll('\r\n', '\n') }
}

/** RFC 2047: `=?utf-8?Q?…?=`; the space between two such words isn't part of the text. */
const decodeWords = (value: string) =>
  value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
      encoding.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString()
        : quotedPrintable(word.replaceAll('_', ' ')),
    )

const quotedPrintable = (text: string) =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString()
