import Type, { type Static } from 'typebox'
import type { Payout } from '../../money/payout.ts'
import { component } from '../schema.ts'
import { examplePayout, payoutFields, payoutJson } from './payout.ts'

export const OperatorPayoutSchema = component(
  'OperatorPayout',
  Type.Object(
    {
      ...payoutFields,
      to_check: Type.Boolean({
        description:
          'Whether the payout is held until you release it, or mark it as paid. Other held payouts accept neither, except as paid `outside` of the service',
      }),
    },
    { description: 'A payout as the operator sees it.' },
  ),
)

export const operatorPayoutJson = (payout: Payout): Static<typeof OperatorPayoutSchema> => ({
  ...payoutJson(payout),
  to_check: payout.isToCheck,
})

export const exampleOperatorPayout: Static<typeof OperatorPayoutSchema> = {
  ...examplePayout,
  to_check: false,
}
