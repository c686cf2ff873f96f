import { randomUUID } from 'node:crypto'
import type { Random } from '../random.ts'
import type { Client } from './client.ts'
import type { Market, Seller } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'

/** The bank's record of the files that it got and of the transfers that it executed. */
export type Bank = {
  /** The text of each file, by payout run. */
  files: Map<number, string>
  /** The executed transfers by reference. */
  transfers: Map<string, { cents: number; iban: string }>
  /** References of the transfers that the bank has returned, because their payout failed. */
  returned: Set<string>
}

export type FinanceJournal = {
  bank: Bank
  /** The runs of which the staff knows. */
  runs: { id: number; count: number; total: number; file: string | null }[]
  /** Responses and files that must not occur. */
  violations: string[]
}

export const newBank = (): Bank => ({ files: new Map(), transfers: new Map(), returned: new Set() })

const IBANS = ['NL02ABNA0123456789', 'DE89370400440532013000', 'BE68539007547034']

/**
 * Does one random step of the staff who pay the sellers, or of a seller who changes the bank account: a payout run, a
 * result of the bank, a decision about a payout setup.
 */
export async function doFinance(
  client: Client,
  journal: FinanceJournal,
  { sellers }: Market,
  random: Random,
): Promise<void> {
  const roll = random.between(0, 1)
  if (roll < 0.4) await runPayouts(client, journal)
  else if (roll < 0.65) await reportResult(client, journal, random, 'paid')
  else if (roll < 0.8) await reportResult(client, journal, random, 'failed')
  else if (roll < 0.97) await decide(client, journal, random.pick(sellers), random)
  else await changeSetup(client, journal, random.pick(sellers), random)
}

/** Runs the payouts once, however often the request is repeated, and gives the file to the bank. */
async function runPayouts(client: Client, journal: FinanceJournal): Promise<void> {
  const { status, text, body } = await client.send('POST', '/operator/v1/payout-runs', {
    token: OPERATOR_TOKEN,
    idempotencyKey: randomUUID(),
  })
  if (status !== 201) {
    journal.violations.push(`A payout run returned ${status}: ${text}`)
    return
  }
  journal.runs.push(body.data)
  if (body.data.count > 0) await downloadFile(client, journal, body.data.id)
}

/** Downloads the file of a run; the bank executes its transfers unless it has the file already. */
export async function downloadFile(
  client: Client,
  { bank, violations }: Pick<FinanceJournal, 'bank' | 'violations'>,
  run: number,
): Promise<void> {
  const path = `/operator/v1/payout-runs/${run}/file`
  const { text } = await client.sendOk('GET', path, { token: OPERATOR_TOKEN })
  const known = bank.files.get(run)
  if (known !== undefined) {
    if (known !== text) violations.push(`The file of payout run ${run} has changed.`)
    return
  }
  bank.files.set(run, text)
  for (const { reference, cents, iban } of transfersIn(text)) {
    if (bank.transfers.has(reference)) {
      violations.push(`The transfer ${reference} is in two files, also in that of run ${run}.`)
    }
    bank.transfers.set(reference, { cents, iban })
  }
}

/** The transfers of a file for the bank. */
export function transfersIn(file: string): { reference: string; cents: number; iban: string }[] {
  const text = (xml: string, tag: string) => new RegExp(`<${tag}[^>]*>([^<]*)<`).exec(xml)![1]!
  return file
    .split('<CdtTrfTxInf>')
    .slice(1)
    .map((xml) => ({
      reference: text(xml, 'EndToEndId'),
      cents: Math.round(Number(text(xml, 'InstdAmt')) * 100),
      iban: text(xml, 'IBAN'),
    }))
}

/** Reports the bank's result of a transfer. Colleagues may report the same one at the same time. */
async function reportResult(
  client: Client,
  { bank, violations }: FinanceJournal,
  random: Random,
  result: 'paid' | 'failed',
): Promise<void> {
  const token = OPERATOR_TOKEN
  const path = '/operator/v1/payouts?state=sent&per_page=20'
  const { body } = await client.sendOk('GET', path, { token })
  if (body.data.length === 0) return
  const { id, reference } = random.pick<{ id: number; reference: string }>(body.data)
  const report = result === 'paid' ? { reference } : { reference, reason: 'The account is closed.' }
  const { status, text } = await client.send('POST', `/operator/v1/payouts/${id}/${result}`, {
    token,
    body: report,
  })
  // 409: a colleague, or an attempt whose response was lost, has reported a result of this transfer.
  if (status !== 200 && status !== 409) {
    violations.push(`Payout ${id} was not marked as ${result}: ${status} ${text}`)
  }
  if (result === 'paid') return
  // Only a failure gives a payout another reference.
  const { data } = (await client.sendOk('GET', `/operator/v1/payouts/${id}`, { token })).body
  if (data.state === 'failed' || data.reference !== reference) bank.returned.add(reference)
}

/** Verifies a seller's payout setup, which makes failed payouts due again, or rejects it for a moment. */
async function decide(
  client: Client,
  { violations }: FinanceJournal,
  seller: Seller,
  random: Random,
): Promise<void> {
  const decision = random.chance(0.15) ? 'reject' : 'verify'
  if (decision === 'reject') seller.isRejected = true
  for (const step of decision === 'reject' ? ['reject', 'verify'] : ['verify']) {
    const path = `/operator/v1/accounts/${seller.id}/payout-setup/${step}`
    const body = step === 'reject' ? { body: { reason: 'Unreadable' } } : {}
    const { status, text } = await client.send('POST', path, { token: OPERATOR_TOKEN, ...body })
    if (status !== 200) violations.push(`POST ${path} returned ${status}: ${text}`)
  }
}

/** A seller enters a bank account in the dashboard: mostly the same one again, which doesn't hold payouts. */
async function changeSetup(
  client: Client,
  { violations }: FinanceJournal,
  seller: Seller,
  random: Random,
): Promise<void> {
  const iban = random.chance(0.1) ? random.pick(IBANS) : seller.ibans.at(-1)!
  // Before the request, because a run may use it before the response arrives.
  seller.ibans.push(iban)
  const { status, text } = await client.send('PUT', '/dashboard/api/payouts/setup', {
    cookie: seller.cookie,
    body: { holder: `Seller ${random.integer(1, 99)}`, iban, password: seller.password },
  })
  if (status !== 200) violations.push(`The setup of seller ${seller.id}: ${status} ${text}`)
}
