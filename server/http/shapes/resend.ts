import Type, { type Static } from 'typebox'
import { validationError } from '../../errors.ts'
import { parseDateTimes } from '../date-time.ts'
import { Data, Text } from '../schema.ts'

const DateTimeText = (description: string) =>
  Text({
    description: `${description}. ISO 8601 date or date-time; without an offset the time is UTC`,
    examples: ['2026-03-01T09:30:00Z'],
  })

/** The period whose missed deliveries are resent. */
export const ResendInput = Type.Object(
  {
    from: DateTimeText('First second of the period'),
    to: DateTimeText('Last second of the period; a date means its first second'),
  },
  { examples: [{ from: '2026-03-01T09:30:00Z', to: '2026-03-02' }] },
)

/** The period of a request, as the audit log keeps it. */
export const auditedPeriod = ({ from, to }: Static<typeof ResendInput>) => ({ from, to })

export const Resent = Data(
  Type.Object({
    deliveries: Type.Integer({ description: 'Number of deliveries that are resent' }),
  }),
  'The attempts are scheduled',
)

/** The period of a request. @throws validation_error for malformed times and a period that ends before it begins */
export function periodOf({ from, to }: Static<typeof ResendInput>): { from: Date; to: Date } {
  const period = parseDateTimes({ from, to })
  if (period.from > period.to) {
    throw validationError({ to: ['The to field must not be before the from field.'] })
  }
  return period
}
