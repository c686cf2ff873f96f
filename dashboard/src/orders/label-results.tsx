import { Badge, type Tone } from '../ui/badge.tsx'
import { Button, ExternalLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { notify } from '../ui/toast.tsx'
import { type LabelResult, labelsUrl } from './api.ts'
import { LABELS } from './words.ts'

/** The outcome for each order of a bulk purchase, and the PDF of the labels that are ready. */
export function LabelResults({
  results,
  onClose,
}: {
  results: LabelResult[]
  onClose: () => void
}) {
  const ready = results.filter(isReady).map(({ order }) => order)
  return (
    <Dialog title="Labels" onClose={onClose}>
      <p role="status">{readySentence(ready.length)}</p>
      <List className="outcomes">
        {results.map(({ order, label, error }) => (
          <li key={order}>
            <strong>Order {order}</strong>
            <Outcome status={label?.status} />
            {messageOf({ label, error }) && <p className="help">{messageOf({ label, error })}</p>}
          </li>
        ))}
      </List>
      <div className="form-actions">
        {ready.length > 0 && (
          <ExternalLink href={labelsUrl(ready)}>
            Open {plural(ready.length, 'label')} as one PDF
          </ExternalLink>
        )}
        <Button onPress={onClose}>Done</Button>
      </div>
    </Dialog>
  )
}

/** Shows the outcomes on another page, if the list of orders was left before the service has responded. */
export function notifyLabels(results: LabelResult[]): void {
  const others = Map.groupBy(
    results.filter((result) => !isReady(result)),
    (result) => messageOf(result) ?? `${wordOf(result.label?.status).label}.`,
  )
  const sentences = [...others].map(
    ([message, alike]) =>
      `${alike.length === 1 ? 'Order' : 'Orders'} ${alike.map(({ order }) => order).join(', ')}: ${message}`,
  )
  const text = [readySentence(results.filter(isReady).length), ...sentences].join(' ')
  const isFailure = results.some(
    ({ label, error }) => error || !label || label.status === 'action_required',
  )
  notify(text, { isFailure })
}

/** The label of a cancelled order is ready as well, with a message not to use it. */
const isReady = ({ label }: LabelResult) => label?.status === 'ready' && label.message === null

const readySentence = (count: number) => `${plural(count, 'label is', 'labels are')} ready.`

const messageOf = ({ label, error }: Pick<LabelResult, 'label' | 'error'>) =>
  error?.message ?? label?.message

type Status = NonNullable<LabelResult['label']>['status'] | undefined

const wordOf = (status: Status): { label: string; tone?: Tone } => {
  if (status === undefined) return { label: 'No label', tone: 'bad' }
  return status === 'self_ship' ? { label: 'You ship it' } : LABELS[status]
}

function Outcome({ status }: { status: Status }) {
  const { label, tone } = wordOf(status)
  return <Badge tone={tone}>{label}</Badge>
}
