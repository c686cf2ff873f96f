import type { Dispute, OwnShippingOption, Payout } from '@cardstall/sdk'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { type Column, euros } from '../output.ts'
import { openSession } from '../session.ts'
import { count } from './catalog.ts'

const PAYOUT_STATES = ['due', 'sent', 'paid', 'failed', 'held'] as const
const DISPUTE_STATES = ['open', 'answered', 'resolved'] as const

const payoutColumns: Column<Payout>[] = [
  ['ID', ({ id }) => id],
  ['STATE', ({ state }) => state],
  ['AMOUNT', ({ amount }) => euros(amount)],
  ['REFERENCE', ({ reference }) => reference],
  ['SLICE', ({ slice_key }) => slice_key],
  ['PAID', ({ paid_at }) => paid_at?.slice(0, 10)],
  ['REASON', ({ reason }) => reason],
]

const disputeColumns: Column<Dispute>[] = [
  ['ORDER', ({ order_id }) => order_id],
  ['STATE', ({ state }) => state],
  ['REASON', ({ reason }) => reason],
  ['ITEM', ({ item_name }) => item_name],
  ['ANSWER BY', ({ answer_by }) => answer_by.slice(0, 10)],
  ['MESSAGE', ({ message }) => message],
]

const optionColumns: Column<OwnShippingOption>[] = [
  ['CODE', ({ code }) => code],
  ['NAME', ({ name }) => name],
  ['PRICE', ({ price }) => euros(price)],
  ['LABEL', ({ fulfilment }) => (fulfilment === 'platform' ? 'marketplace' : 'own')],
  ['TRACKED', ({ tracked }) => (tracked ? 'yes' : 'no')],
  ['ENABLED', ({ enabled }) => (enabled ? 'yes' : 'no')],
  ['COUNTRIES', ({ countries }) => countries?.join(' ') ?? 'all'],
  ['UP TO', ({ max_value }) => (max_value === null ? 'any value' : euros(max_value))],
]

/** `payouts`, `statement`, `disputes`, `shipping`, `holiday`. */
export function shopCommands(program: Command): void {
  program
    .command('payouts')
    .description('list your payouts, newest first')
    .addOption(new Option('--state <state>', 'only this state').choices(PAYOUT_STATES))
    .option('--limit <n>', 'number of rows', count, 100)
    .action(
      async ({ limit, ...query }: { limit: number; state?: Payout['state'] }, command: Command) => {
        const { client, out } = await openSession(command)
        out.records(await client.tools.payouts.list(query).all(limit), payoutColumns)
      },
    )

  program
    .command('statement')
    .argument('<month>', 'such as 2026-03', month)
    .description('show the statement of a month')
    .option('--csv', 'print the table as CSV')
    .action(async (month: string, { csv }: { csv?: boolean }, command: Command) => {
      const { client, out } = await openSession(command)
      if (csv) return void process.stdout.write(await client.tools.statements.csv(month))
      const statement = await client.tools.statements.get(month)
      const { totals } = statement
      out.record(statement, [
        ['Month', statement.month],
        ['Opening balance', euros(statement.opening_balance)],
        ['Sales', euros(totals.gross)],
        ['Commission', euros(totals.commission)],
        ['Shipping', euros(totals.shipping)],
        ['Refunds', euros(totals.refunds)],
        ['Payouts', euros(totals.payout)],
        ['Closing balance', euros(statement.closing_balance)],
      ])
    })

  program
    .command('disputes')
    .description('list disputes about your orders')
    .addOption(new Option('--state <state>', 'only this state').choices(DISPUTE_STATES))
    .option('--limit <n>', 'number of rows', count, 100)
    .action(
      async (
        { limit, ...query }: { limit: number; state?: Dispute['state'] },
        command: Command,
      ) => {
        const { client, out } = await openSession(command)
        out.records(await client.tools.disputes.list(query).all(limit), disputeColumns)
      },
    )

  program
    .command('shipping')
    .description('list your shipping options')
    .action(async (_options, command: Command) => {
      const { client, out } = await openSession(command)
      out.records(await client.tools.shippingOptions.list(), optionColumns)
    })

  program
    .command('holiday')
    .addArgument(new Argument('[state]', 'omit it to show the state').choices(['on', 'off']))
    .description('hide the shop and block sales, or open it again')
    .action(async (state: 'on' | 'off' | undefined, _options, command: Command) => {
      const { client, out } = await openSession(command)
      const { holiday } = client.tools
      const current = await (state ? holiday.set(state === 'on') : holiday.get())
      out.record(current, [['Holiday', current.on ? 'on' : 'off']])
    })
}

function month(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text))
    throw new InvalidArgumentError('It must be a month such as 2026-03.')
  return text
}
