import { BlockList, isIP, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { centsFromEuros } from '../cents.ts'
import { parseIban } from '../text/iban.ts'
import { type Mailbox, mailbox } from '../text/mailbox.ts'
import { usableMemory } from './usable-memory.ts'

/** Parses the text of one setting, which is never empty. Throws InvalidValue. */
export type Parser<T> = (text: string) => T

/** The reason why a value is invalid. It follows the setting's name in a sentence, and never contains a secret. */
export class InvalidValue extends Error {
  override name = 'InvalidValue'
}

export const anyText: Parser<string> = (text) => text

/** A host name or an IP address. An IPv6 address can have the brackets that it has in a URL. */
export const hostName: Parser<string> = (text) => {
  const inBrackets = /^\[(.*)\]$/.exec(text)?.[1]
  return inBrackets !== undefined && isIPv6(inBrackets) ? inBrackets : text
}

export const flag: Parser<boolean> = (text) => {
  const value = text.toLowerCase()
  if (value === 'true' || value === '1') return true
  if (value === 'false' || value === '0') return false
  throw new InvalidValue(`must be true or false, not "${text}".`)
}

/** A whole number in this range, both ends included. */
export const integer =
  (from: number, to: number): Parser<number> =>
  (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= from && number <= to) return number
    throw new InvalidValue(`must be a whole number from ${from} to ${to}, not "${text}".`)
  }

/** More would need more connections than most database servers admit by default. */
const MAX_AUTOMATIC = 8

/** Memory of a process under load (bench/README.md), with as many offers as it keeps in memory. */
const PROCESS_BYTES = 350 * 2 ** 20

/** One process per core, as far as the memory suffices, up to a maximum that the database's connections allow. */
export const automaticCount = (cores = availableParallelism(), bytes = usableMemory()) =>
  Math.max(1, Math.min(cores, Math.floor(bytes / PROCESS_BYTES), MAX_AUTOMATIC))

/** A number of processes; `auto` is `automaticCount`. */
export const processCount =
  (max: number): Parser<number> =>
  (text) => {
    if (text.toLowerCase() === 'auto') return automaticCount()
    const number = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
    if (number >= 1 && number <= max) return number
    throw new InvalidValue(`must be auto or a whole number from 1 to ${max}, not "${text}".`)
  }

/** One of these values, in any case. */
export const oneOf =
  <T extends string>(values: readonly T[]): Parser<T> =>
  (text) => {
    const found = values.find((value) => value === text.toLowerCase())
    if (found) return found
    throw new InvalidValue(`must be one of ${values.join(', ')}, not "${text}".`)
  }

/** A URL with one of these protocols, returned as given. No message contains it, because it may hold a password. */
export const url =
  (...protocols: string[]): Parser<string> =>
  (text) => {
    if (URL.canParse(text)) {
      const { protocol, hostname } = new URL(text)
      // The client of PostgreSQL would take a comma for the separator of several hosts.
      if (protocols.includes(protocol) && !hostname.includes(',')) return text
    }
    if (protocols.some((protocol) => text.startsWith(`${protocol}//`))) {
      throw new InvalidValue(
        'must be a valid URL, with one host, a number as its port, and special characters percent-encoded.',
      )
    }
    throw new InvalidValue(
      `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}.`,
    )
  }

const NOT_ENCODED = 'must have its special characters percent-encoded.'

/** A URL of a server with a login. */
export const serverUrl =
  (...protocols: string[]): Parser<string> =>
  (text) => {
    const { username, password, pathname, search, hash } = new URL(url(...protocols)(text))
    // A raw "/", "?" or "#" in a password ends the host: messages would show what is before it.
    const isCut = /@/.test(pathname + hash) || /^[^=]*@/.test(search)
    if (isCut || !isDecodable(username) || !isDecodable(password)) {
      throw new InvalidValue(NOT_ENCODED)
    }
    return text
  }

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** An http or https URL without query, fragment and user; trailing slashes are removed. */
export const plainWebAddress: Parser<string> = (text) => {
  const { href, username, password } = new URL(url('http:', 'https:')(text))
  // `search` and `hash` are also empty for a `?` or `#` at the end, which would break each link.
  if (/[?#]/.test(href) || username || password) {
    throw new InvalidValue('must be a plain address: no query, fragment or user.')
  }
  // As a browser would write it: a space, for example, is %20.
  return href.replace(/\/+$/, '')
}

/** An http or https URL with `{listing}` in it and without user. */
export const buyAddress: Parser<string> = (text) => {
  const { username, password } = new URL(url('http:', 'https:')(text.replaceAll('{listing}', '1')))
  if (username || password) {
    throw new InvalidValue('must not contain a user or password, because it is published.')
  }
  if (text.includes('{listing}')) return text
  throw new InvalidValue('must contain {listing}, which stands for the id of a listing.')
}

/** Parameters of SMTP_URL. The mail library would ignore a misspelt one, and send without encryption. */
const MAIL_PARAMETERS = ['requireTLS', 'ignoreTLS', 'tls.rejectUnauthorized']

export const mailServer: Parser<string> = (text) => {
  const { hostname, pathname, hash, searchParams } = new URL(serverUrl('smtp:', 'smtps:')(text))
  if (hostname === '') throw new InvalidValue('must name a host.')
  // A password with a raw "/" or "#" would end up here.
  if (!['', '/'].includes(pathname) || hash) throw new InvalidValue(NOT_ENCODED)
  for (const [name, value] of searchParams) {
    // No message contains the name, because it may be a part of a password.
    if (!MAIL_PARAMETERS.includes(name) || !['true', 'false'].includes(value)) {
      throw new InvalidValue(
        `may have only these parameters, each true or false: ${MAIL_PARAMETERS.join(', ')}.`,
      )
    }
  }
  return text
}

export const secret: Parser<string> = (text) => {
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new InvalidValue('must be printable ASCII characters without spaces.')
}

/** Far below Node's limit for all headers of a request, which would refuse every request with a longer token. */
const MAX_TOKEN_LENGTH = 1_000

export const bearerToken: Parser<string> = (text) => {
  if (text.length <= MAX_TOKEN_LENGTH) return secret(text)
  throw new InvalidValue(`must have at most ${MAX_TOKEN_LENGTH} characters.`)
}

export const sender: Parser<Mailbox> = (text) => {
  const found = mailbox(text)
  if (found) return found
  throw new InvalidValue(
    'must be an e-mail address, such as shop@cards.example or Card Shop <shop@cards.example>.',
  )
}

/** An IBAN, without its spaces. */
export const bankAccount: Parser<string> = (text) => {
  const iban = parseIban(text)
  if (iban !== undefined) return iban
  throw new InvalidValue('must be a valid IBAN of a country in the SEPA area.')
}

/** `parcel=8,letter=1046,*=8`: a number for each shipping option. */
export const shippingMethods: Parser<Map<string, number>> = (text) => {
  const methods = text.split(',').map((entry): [string, number] => {
    const [, code, id] = /^\s*(\S.*?)\s*=\s*(\d{1,15})\s*$/.exec(entry) ?? []
    if (code !== undefined) return [code, Number(id)]
    throw new InvalidValue(
      'must name a shipping method for each shipping option, such as parcel=8,letter=1046,*=8.',
    )
  })
  const byCode = new Map(methods)
  if (byCode.size === methods.length) return byCode
  throw new InvalidValue('must name each shipping option once.')
}

/** Amounts in euros that rise from 0, as many as in the example. The result is in whole cents. */
export const risingEuros =
  (example: string): Parser<number[]> =>
  (text) => {
    const amounts = text
      .split(',')
      .map((part) => (/^\s*\d{1,9}(\.\d\d?)?\s*$/.test(part) ? Number(part) : Number.NaN))
    const count = example.split(',').length
    const rises = amounts.every((amount, i) => (i === 0 ? amount === 0 : amount > amounts[i - 1]!))
    if (amounts.length === count && rises) return amounts.map(centsFromEuros)
    throw new InvalidValue(
      `must be ${count} amounts in euros that rise from 0, separated by commas, such as "${example}".`,
    )
  }

/** `any`, `documents`, or host names separated by commas. */
export const programs: Parser<'any' | 'documents' | string[]> = (text) => {
  const lower = text.toLowerCase()
  if (lower === 'any' || lower === 'documents') return lower
  return lower.split(',').map((entry) => {
    const host = entry.trim()
    const isMode = host === 'any' || host === 'documents'
    if (!isMode && URL.parse(`https://${host}/`)?.host === host) return host
    throw new InvalidValue(
      `must be any, documents, or host names separated by commas; "${host}" is none.`,
    )
  })
}

/** IP addresses and CIDR ranges, separated by commas. */
export const addressRanges: Parser<string[]> = (text) => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)
  for (const entry of entries) {
    if (!isAddressOrRange(entry)) {
      throw new InvalidValue(
        `must list IP addresses or CIDR ranges, separated by commas; "${entry}" is neither.`,
      )
    }
    // The framework throws an error for such a range.
    if (/\/0+$/.test(entry)) {
      throw new InvalidValue(`must not list every address, as "${entry}" does.`)
    }
  }
  return entries
}

function isAddressOrRange(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (bits === undefined) return true
  if (!/^\d{1,3}$/.test(bits)) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
    return true
  } catch {
    return false
  }
}
