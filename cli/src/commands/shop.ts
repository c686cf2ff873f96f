import type {
  Dispute,
  ListOwnReviewsQuery,
  OwnShippingOption,
  Payout,
  Review,
} from '@cardstall/sdk'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { printList } from '../lists.ts'
import { amount, count } from '../numbers.ts'
import { type Column, endProgress, euros } from '../output.ts'
import { CommandError, EXIT, openSession, refuseJson } from '../session.ts'

const PAYOUT_STATES = ['due', 'sent', 'paid', 'failed', 'held'] as const
const YES_NO = ['yes', 'no'] as const
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
  ['DISPUTE', ({ id }) => id],
  ['STATE', ({ state }) => state],
  ['REASON', ({ reason }) => reason],
  ['ITEM', ({ item_name }) => item_name],
  ['ANSWER BY', ({ answer_by }) => answer_by],
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

const reviewColumns: Column<Review>[] = [
  ['ID', ({ id }) => id],
  ['STARS', ({ stars }) => stars],
  ['ORDER', ({ order_id }) => order_id],
  ['TEXT', ({ text }) => text],
  ['REPLY', ({ reply }) => reply?.text],
  ['TIME', ({ created_at }) => created_at],
]

/** `payouts`, `statement`, `disputes`, `reviews`, `shipping`, `holiday`. */
export function shopCommands(program: Command): void {
  program
    .command('payouts')
    .description('list your payouts, newest first')
    .addOption(new Option('--state <state>', 'only this state').choices(PAYOUT_STATES))
    .option('--limit <n>', 'number of rows', count, 100)
    .action(
      async ({ limit, ...query }: { limit: number; state?: Payout['state'] }, command: Command) => {
        const { client, out } = await openSession(command)
        const list = client.tools.payouts.list(query)
        await printList(out, list, { limit, columns: payoutColumns, name: 'payouts' })
      },
    )

  program
    .command('statement')
    .argument('<month>', 'such as 2026-03', month)
    .description('show the statement of a month')
    .option('--csv', 'print the table as CSV')
    .action(async (month: string, { csv }: { csv?: boolean }, command: Command) => {
      if (csv) refuseJson(command, 'leave out --csv or --json')
      const { client, out } = await openSession(command)
      if (csv) {
        const text = await client.tools.statements.csv(month)
        endProgress()
        return void process.stdout.write(text)
      }
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

  const disputes = program.command('disputes').description('list and answer disputes')
  disputes
    .command('list', { isDefault: true })
    .description('list disputes about your orders')
    .addOption(new Option('--state <state>', 'only this state').choices(DISPUTE_STATES))
    .option('--limit <n>', 'number of rows', count, 100)
    .action(
      async (
        { limit, ...query }: { limit: number; state?: Dispute['state'] },
        command: Command,
      ) => {
        const { client, out } = await openSession(command)
        const list = client.tools.disputes.list(query)
        await printList(out, list, { limit, columns: disputeColumns, name: 'disputes' })
      },
    )
  disputes
    .command('answer')
    .argument('<order>', 'id of the order', count)
    .argument('<message>', 'your answer, which the buyer gets by e-mail')
    .description('answer the dispute about an order, once')
    .option(
      '--dispute <id>',
      'id of the dispute that you answer; fails if another one is open',
      count,
    )
    .option('--photo <url...>', 'https address of a photo')
    .action(
      async (
        order: number,
        message: string,
        { dispute, photo }: { dispute?: number; photo?: string[] },
        command: Command,
      ) => {
        const { client, out } = await openSession(command)
        const answer = {
          message,
          ...(dispute && { dispute_id: dispute }),
          ...(photo && { photo_urls: photo }),
        }
        out.records([await client.tools.disputes.answer(order, answer)], disputeColumns)
      },
    )

  const reviews = program.command('reviews').description('list reviews and reply to them')
  reviews
    .command('list', { isDefault: true })
    .description('list reviews of your shop, newest first')
    .option('--stars <n>', 'only reviews with this number of stars', count)
    .option('--limit <n>', 'number of reviews', count, 30)
    .action(async ({ limit, stars }: { limit: number; stars?: number }, command: Command) => {
      const { client, out } = await openSession(command)
      const query = (stars === undefined ? {} : { stars }) as ListOwnReviewsQuery
      const list = client.tools.reviews.list(query)
      await printList(out, list, { limit, columns: reviewColumns, name: 'reviews' })
    })
  reviews
    .command('reply')
    .argument('<review>', 'id of the review', count)
    .argument('<text>', 'your reply')
    .description('reply to a review in public; a further reply replaces the first')
    .action(async (review: number, text: string, _options, command: Command) => {
      const { client, out } = await openSession(command)
      out.records([await client.tools.reviews.reply(review, text)], reviewColumns)
    })

  const shipping = program.command('shipping').description('list and change your shipping options')
  shipping
    .command('list', { isDefault: true })
    .description('list your shipping options')
    .action(async (_options, command: Command) => {
      const { client, out } = await openSession(command)
      out.records(await client.tools.shippingOptions.list(), optionColumns)
    })
  shipping
    .command('set')
    .argument('<code>', 'code of the option')
    .description('change a shipping option')
    .option('--price <euros>', 'price for the buyer', amount)
    .addOption(new Option('--enabled <state>', 'whether buyers can choose it').choices(YES_NO))
    .action(
      async (
        code: string,
        { enabled, ...changes }: { price?: number; enabled?: 'yes' | 'no' },
        command: Command,
      ) => {
        if (enabled === undefined && changes.price === undefined) {
          throw new CommandError('Name what to change: --price or --enabled.', EXIT.usage)
        }
        const { client, out } = await openSession(command)
        const options = await client.tools.shippingOptions.list()
        if (!options.some((option) => option.code === code)) {
          throw new CommandError(`There is no option "${code}": "cardstall shipping" lists them.`)
        }
        const changed = options.map((option) =>
          option.code === code
            ? { ...option, ...changes, ...(enabled && { enabled: enabled === 'yes' }) }
            : option,
        )
        out.records(await client.tools.shippingOptions.replace(changed), optionColumns)
      },
    )

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
