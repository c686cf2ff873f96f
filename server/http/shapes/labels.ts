import Type, { type Static } from 'typebox'
import { type LabelResult, MAX_LABELS } from '../../shipping/several-labels.ts'
import { component, ErrorObject, Id } from '../schema.ts'
import { exampleLabel, LabelSchema, labelJson } from './label.ts'

/** Labels of several orders. */
export const LabelsInput = Type.Object(
  {
    orders: Type.Array(Id(), {
      minItems: 1,
      maxItems: MAX_LABELS,
      uniqueItems: true,
      description: 'Ids of order rows. A slice gets one label, however many of its rows are named',
    }),
    merge: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Respond with one PDF of all labels that are ready instead of JSON',
      }),
    ),
  },
  { examples: [{ orders: [501, 502], merge: false }] },
)

export const LabelResultSchema = component(
  'LabelResult',
  Type.Object(
    {
      order: Type.Integer({ description: 'The order row of the request' }),
      label: Type.Unsafe<Static<typeof LabelSchema> | null>({
        anyOf: [LabelSchema, { type: 'null' }],
        description: 'The response of `POST /v1/orders/{order}/label`; null after an error',
      }),
      error: Type.Unsafe<Static<typeof ErrorObject> | null>({
        anyOf: [ErrorObject, { type: 'null' }],
        description:
          'The error that the request for this order alone would get, or `provider_error` if no time was left for it',
      }),
    },
    { description: 'The label of one order of the request.' },
  ),
)

export function labelResultJson(result: LabelResult): Static<typeof LabelResultSchema> {
  if (result.error) {
    const { type, message, fields } = result.error
    return {
      order: result.orderId,
      label: null,
      error: { type, message, ...(fields ? { fields } : {}) },
    }
  }
  return { order: result.orderId, label: labelJson(result.label, result.slice), error: null }
}

export const exampleLabelResults = [
  { order: 501, label: exampleLabel, error: null },
  {
    order: 502,
    label: null,
    error: { type: 'conflict', message: 'This order has no delivery address to put on a label.' },
  },
]
