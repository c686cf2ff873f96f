import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { whenFileEnds } from '../when-file-ends.ts'

/** A received e-mail, decoded without the library that sends it. */
export type Received = {
  /** The SMTP envelope. */
  from: string
  to: string[]
  headers: Record<string, string>
  text: string
  /** The authenticated user. */
  user: string | undefined
}

export type MailServer = {
  port: number
  url: string
  received: Received[]
  /** Destroys all connections. */
  hangUp(): void
}

/**
 * Greets each client at once. The library waits 100 ms to detect one that talks too soon, and a test of retries makes ten
 * connections.
 */
class PromptServer extends SMTPServer {
  /** The library calls this method for each new connection. */
  override connect(...accepted: Parameters<SMTPServer['connect']>): void {
    super.connect(...accepted)
    const connection = [...this.connections].at(-1)!
    const greet = connection.connectionReady.bind(connection)
    // The library calls it once more, after its pause.
    connection.connectionReady = () => {}
    greet()
  }
}

/**
 * Starts a mail server without TLS on a free loopback port. It accepts every e-mail by default, and stops when the test
 * file ends.
 */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const server = new PromptServer({
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
  // The library also reports a client that disconnects as an error.
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

/** Decodes RFC 2047 words, `=?utf-8?Q?…?=`. Space between two words is not part of the text. */
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
