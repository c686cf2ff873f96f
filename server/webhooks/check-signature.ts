import { timingSafeEqual } from 'node:crypto'
import { signatureOf } from './signature.ts'

/** Receivers refuse older timestamps (docs/webhooks.md). */
const TOLERANCE_SECONDS = 300

/** A delivery as a receiver got it. */
type ReceivedDelivery = {
  body: string
  /** The header X-Service-Timestamp. */
  timestamp: string
  /** The header X-Service-Signature. */
  signature: string
  secret: string
}

type SignatureCheck = {
  isValid: boolean
  /** Advice in sentences. A valid signature can have an old timestamp. */
  findings: string[]
}

/** Checks a signature (§6.5), and looks for the usual mistakes if it is wrong. */
export function checkSignature(received: ReceivedDelivery, now: Date): SignatureCheck {
  const body = received.body
  const timestamp = received.timestamp.trim()
  const signature = received.signature.trim()
  const secret = received.secret.trim()
  if (!/^\d{1,12}$/.test(timestamp)) {
    return refuse('The timestamp must be the Unix seconds of X-Service-Timestamp.')
  }
  if (!/^[0-9a-f]{64}$/i.test(signature)) {
    return refuse('The signature must be the 64 hexadecimal digits of X-Service-Signature.')
  }
  const seconds = Number(timestamp)
  const matches = (text: string, key = secret) => isSame(signatureOf(key, seconds, text), signature)
  if (matches(body)) {
    const age = Math.round(now.getTime() / 1000) - seconds
    const isOld = age > TOLERANCE_SECONDS
    return {
      isValid: true,
      findings: isOld
        ? [
            `The timestamp is ${age} seconds old: a receiver refuses more than ${TOLERANCE_SECONDS}.`,
          ]
        : [],
    }
  }
  const findings = [
    matches(body.trim()) &&
      'The body has white space at its beginning or end that was not sent: sign the raw bytes.',
    matches(body.replaceAll('\r\n', '\n')) && 'The line breaks of the body were changed.',
    matches(compact(body)) &&
      'The body was parsed and formatted again: verify the raw bytes before parsing.',
    !secret.startsWith('svc_whsec_') &&
      (matches(body, `svc_whsec_${secret}`)
        ? 'The key is the whole secret, including svc_whsec_.'
        : 'A secret begins with svc_whsec_.'),
  ].filter((finding) => finding !== false)
  return refuse(
    ...(findings.length > 0
      ? findings
      : ['No usual mistake explains it: compare the secret, and that the body is complete.']),
  )
}

const refuse = (...findings: string[]): SignatureCheck => ({ isValid: false, findings })

const isSame = (expected: string, given: string) =>
  timingSafeEqual(Buffer.from(expected), Buffer.from(given.toLowerCase()))

function compact(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}
