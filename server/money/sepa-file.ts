/**
 * SEPA credit transfers as an ISO 20022 file, pain.001.001.09, with the rules of the European Payments Council: one
 * payment of many transfers, in euros, addressed by IBAN only.
 */

import { plainLetters } from '../text/plain-letters.ts'

export type CreditTransfers = {
  /** Unique, at most 35 characters. A bank refuses a second file with the same id. */
  id: string
  createdAt: Date
  debtor: { name: string; iban: string }
  transfers: {
    /** Unique, at most 35 characters. */
    reference: string
    amountCents: number
    name: string
    iban: string
  }[]
}

/** The text of the file. Equal input results in equal text. */
export function creditTransferFile({ id, createdAt, debtor, transfers }: CreditTransfers): string {
  const time = `${createdAt.toISOString().slice(0, 19)}Z`
  const totals = [
    `<NbOfTxs>${transfers.length}</NbOfTxs>`,
    `<CtrlSum>${decimal(transfers.reduce((sum, { amountCents }) => sum + amountCents, 0))}</CtrlSum>`,
  ].join('')
  const name = sepaText(debtor.name)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09">',
    '<CstmrCdtTrfInitn>',
    `<GrpHdr><MsgId>${id}</MsgId><CreDtTm>${time}</CreDtTm>${totals}<InitgPty><Nm>${name}</Nm></InitgPty></GrpHdr>`,
    `<PmtInf><PmtInfId>${id}</PmtInfId><PmtMtd>TRF</PmtMtd>${totals}`,
    '<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>',
    `<ReqdExctnDt><Dt>${time.slice(0, 10)}</Dt></ReqdExctnDt>`,
    `<Dbtr><Nm>${name}</Nm></Dbtr>`,
    `<DbtrAcct><Id><IBAN>${debtor.iban}</IBAN></Id></DbtrAcct>`,
    '<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt>',
    '<ChrgBr>SLEV</ChrgBr>',
    ...transfers.map(transferXml),
    '</PmtInf>',
    '</CstmrCdtTrfInitn>',
    '</Document>',
    '',
  ].join('\n')
}

const transferXml = ({
  reference,
  amountCents,
  name,
  iban,
}: CreditTransfers['transfers'][number]) =>
  [
    `<CdtTrfTxInf><PmtId><EndToEndId>${reference}</EndToEndId></PmtId>`,
    `<Amt><InstdAmt Ccy="EUR">${decimal(amountCents)}</InstdAmt></Amt>`,
    `<Cdtr><Nm>${sepaText(name)}</Nm></Cdtr>`,
    `<CdtrAcct><Id><IBAN>${iban}</IBAN></Id></CdtrAcct>`,
    `<RmtInf><Ustrd>${reference}</Ustrd></RmtInf></CdtTrfTxInf>`,
  ].join('')

const decimal = (cents: number) =>
  `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`

const MAX_NAME = 70

/** Phones type most of these for an apostrophe and a hyphen. */
const SIGNS: Record<string, string> = {
  ...{ '’': "'", '‘': "'", ʼ: "'", ʻ: "'", '‐': '-', '‑': '-', '–': '-', '—': '-', '&': '+' },
}

/** The text with plain letters, and with the signs that every bank accepts in place of similar ones. */
const plainText = (text: string) =>
  plainLetters(text.replace(/[’‘ʼʻ‐‑–—&]/g, (sign) => SIGNS[sign]!))

/** Whether the file has every letter of the name: with full stops in their place, the bank would find another name. */
export const hasSepaLetters = (name: string): boolean => !/[\p{L}--[A-Za-z]]/v.test(plainText(name))

/**
 * A name in the characters that every SEPA bank accepts: Latin letters, digits and some punctuation. None of them needs
 * an escape in XML. Every other character becomes a full stop.
 */
export function sepaText(text: string): string {
  const plain = plainText(text)
    .replace(/\s+/g, ' ')
    .replace(/[^A-Za-z0-9/?:().,'+ -]/gu, '.')
    .trim()
    .slice(0, MAX_NAME)
    .trim()
  return plain === '' ? 'NOTPROVIDED' : plain
}
