import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseIban } from '../text/iban.ts'
import { testBankAccount } from './payout-setup.ts'
import { type CreditTransfers, creditTransferFile, sepaText } from './sepa-file.ts'

/**
 * The rules of the schema pain.001.001.09 that concern our files: the elements in their order, with the types of their
 * contents.
 */
const NAME = "[A-Za-z0-9/?:().,'+ -]{1,70}"
const ID = '[A-Za-z0-9-]{1,35}'
const IBAN = '[A-Z]{2}[0-9]{2}[A-Za-z0-9]{1,30}'
const AMOUNT = '\\d{1,16}\\.\\d{2}'
const TOTALS = `<NbOfTxs>[0-9]{1,15}</NbOfTxs><CtrlSum>${AMOUNT}</CtrlSum>`
const FILE = new RegExp(
  [
    '^<\\?xml version="1.0" encoding="UTF-8"\\?>',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>',
    `<GrpHdr><MsgId>${ID}</MsgId><CreDtTm>\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ</CreDtTm>${TOTALS}`,
    `<InitgPty><Nm>${NAME}</Nm></InitgPty></GrpHdr>`,
    `<PmtInf><PmtInfId>${ID}</PmtInfId><PmtMtd>TRF</PmtMtd>${TOTALS}`,
    '<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>',
    '<ReqdExctnDt><Dt>\\d{4}-\\d\\d-\\d\\d</Dt></ReqdExctnDt>',
    `<Dbtr><Nm>${NAME}</Nm></Dbtr><DbtrAcct><Id><IBAN>${IBAN}</IBAN></Id></DbtrAcct>`,
    '<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt>',
    '<ChrgBr>SLEV</ChrgBr>',
    `(<CdtTrfTxInf><PmtId><EndToEndId>${ID}</EndToEndId></PmtId>`,
    `<Amt><InstdAmt Ccy="EUR">${AMOUNT}</InstdAmt></Amt><Cdtr><Nm>${NAME}</Nm></Cdtr>`,
    `<CdtrAcct><Id><IBAN>${IBAN}</IBAN></Id></CdtrAcct>`,
    `<RmtInf><Ustrd>${ID}</Ustrd></RmtInf></CdtTrfTxInf>)+`,
    '</PmtInf></CstmrCdtTrfInitn></Document>$',
  ].join(''),
)

const account = fc.record({
  name: fc.string({ unit: 'grapheme', maxLength: 120 }),
  iban: fc.nat().map((id) => testBankAccount(id, 'x').iban),
})
const transfer = fc
  .tuple(account, fc.integer({ min: 1, max: 999_999_999_99 }), fc.uuid())
  .map(([to, amountCents, uuid]) => ({ ...to, amountCents, reference: uuid.slice(0, 35) }))
const file = fc.record({
  id: fc.constant('CARDSTALL-1-ABC'),
  createdAt: fc.date({
    min: new Date('2020-01-01'),
    max: new Date('2100-01-01'),
    noInvalidDate: true,
  }),
  debtor: account,
  transfers: fc.array(transfer, { minLength: 1, maxLength: 20 }),
}) satisfies fc.Arbitrary<CreditTransfers>

it('a file follows the schema of SEPA credit transfers, whatever the names and amounts', () => {
  fc.assert(
    fc.property(file, (input) => {
      const text = creditTransferFile(input).replaceAll('\n', '')
      expect(text).toMatch(FILE)
      const sums = [...text.matchAll(/<CtrlSum>([\d.]+)</g)].map(([, sum]) => sum)
      const amounts = [...text.matchAll(/Ccy="EUR">([\d.]+)</g)].map(([, sum]) => sum!)
      const cents = amounts.reduce((sum, euros) => sum + BigInt(euros.replace('.', '')), 0n)
      expect(sums).toEqual([sums[0], sums[0]])
      expect(BigInt(sums[0]!.replace('.', ''))).toBe(cents)
      expect(text.match(/<NbOfTxs>(\d+)</)![1]).toBe(String(input.transfers.length))
    }),
  )
})

it.each([
  ['Łukasz Żółć & Söhne', 'Lukasz Zolc + Sohne'],
  ['Æther “Cards” <b>', 'AEther .Cards. .b.'],
  ['O’Neill Żaħra', "O'Neill Zahra"],
  ['STRAẞE – ŊŦ', 'STRASSE - NT'],
  ['ポケモン', '....'],
  ['𠮷田 🃏', '.. .'],
  [' \n ', 'NOTPROVIDED'],
  ['x'.repeat(100), 'x'.repeat(70)],
])('the name %j becomes %j in a file', (name, expected) => {
  expect(sepaText(name)).toBe(expected)
})

it.each([
  ['nl02 abna 0123 4567 89', 'NL02ABNA0123456789'],
  ['\u202aNL02\u00a0ABNA\u202f0123\u20094567\u00a089\t', 'NL02ABNA0123456789'],
  ['DE44100000000000000012', 'DE44100000000000000012'],
  ['NL02ABNA0123456780', undefined],
  ['BR1500000000000010932840814P2', undefined],
  ['NL02', undefined],
  ['', undefined],
])('the IBAN %j is read as %j', (text, iban) => {
  expect(parseIban(text)).toBe(iban)
})
