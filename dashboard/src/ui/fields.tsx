import { type ReactNode, useContext, useId, useState } from 'react'
import {
  Button as AriaButton,
  Checkbox as AriaCheckbox,
  CheckboxGroup as AriaCheckboxGroup,
  Radio as AriaRadio,
  RadioGroup as AriaRadioGroup,
  TextArea as AriaTextArea,
  TextField as AriaTextField,
  type CheckboxProps,
  FieldError,
  FormValidationContext,
  Group,
  Input,
  Label,
  Text,
  type TextFieldProps,
} from 'react-aria-components'
import { classes } from './classes.ts'
import { Icon } from './icons.tsx'

/** Every field has a label. `name` connects it with the service's messages (see Form). */
type Labelled = {
  label: string
  /** Below the field. */
  help?: ReactNode
}

const Help = ({ help }: { help?: ReactNode }) =>
  help === undefined ? null : (
    <Text slot="description" className="help">
      {help}
    </Text>
  )

type TextProps = Labelled &
  Omit<TextFieldProps, 'children' | 'className'> & {
    isMonospaced?: boolean
    /** The label says so. */
    isOptional?: boolean
  }

const TextLabel = ({ label, isOptional }: Pick<TextProps, 'label' | 'isOptional'>) => (
  <Label className="label">{isOptional ? `${label} (optional)` : label}</Label>
)

export const TextField = ({
  label,
  help,
  isOptional,
  placeholder,
  isMonospaced,
  ...field
}: TextProps & { placeholder?: string }) => {
  const { messages, validated } = useMessages(field)
  return (
    <AriaTextField {...validated} className="field">
      <TextLabel label={label} isOptional={isOptional} />
      <Input className={classes('input', isMonospaced && 'code')} placeholder={placeholder} />
      <Help help={help} />
      <Messages messages={messages} />
    </AriaTextField>
  )
}

export const TextArea = ({
  label,
  help,
  isOptional,
  rows = 4,
  isMonospaced,
  ...field
}: TextProps & { rows?: number }) => {
  const { messages, validated } = useMessages(field)
  return (
    <AriaTextField {...validated} className="field">
      <TextLabel label={label} isOptional={isOptional} />
      <AriaTextArea className={classes('input', isMonospaced && 'code')} rows={rows} />
      <Help help={help} />
      <Messages messages={messages} />
    </AriaTextField>
  )
}

/** A whole number with buttons for one more and one less. `readCount` reads its text. */
export const CountField = ({
  label,
  help,
  defaultValue,
  minValue = 0,
  maxValue,
  ...field
}: Omit<TextProps, 'defaultValue' | 'isOptional'> & {
  defaultValue: number
  minValue?: number
  maxValue: number
}) => {
  const [text, setText] = useState(String(defaultValue))
  const { messages, validated } = useMessages({ ...field, onChange: setText })
  const step = (by: 1 | -1) => {
    const count = /^\d+$/.test(text.trim()) ? Number(text) + by : defaultValue
    validated.onChange(String(Math.min(Math.max(count, minValue), maxValue)))
  }
  return (
    <AriaTextField
      {...validated}
      className="field"
      inputMode="numeric"
      autoComplete="off"
      value={text}
      onKeyDown={(event) => {
        if (event.key === 'ArrowUp') step(1)
        else if (event.key === 'ArrowDown') step(-1)
        else event.continuePropagation()
      }}
    >
      <Label className="label">{label}</Label>
      <Group className="number">
        <Input className="input" />
        <AriaButton
          className="step"
          aria-label={`Decrease ${label}`}
          excludeFromTabOrder
          onPress={() => step(-1)}
        >
          <Icon name="minus" />
        </AriaButton>
        <AriaButton
          className="step"
          aria-label={`Increase ${label}`}
          excludeFromTabOrder
          onPress={() => step(1)}
        >
          <Icon name="plus" />
        </AriaButton>
      </Group>
      <Help help={help} />
      <Messages messages={messages} />
    </AriaTextField>
  )
}

/**
 * A number with decimals. `readNumber` reads its text. It isn't React Aria's field of numbers, which drops
 * the commas of any text: 12,50 becomes 1250.
 */
export const DecimalField = ({
  label,
  help,
  isOptional,
  unit,
  ...field
}: TextProps & { unit?: '€' }) => {
  const id = useId()
  const { messages, validated } = useMessages(field)
  return (
    <AriaTextField
      {...validated}
      className="field"
      inputMode="decimal"
      autoComplete="off"
      aria-describedby={unit && id}
    >
      <TextLabel label={label} isOptional={isOptional} />
      <Group className="decimal">
        {unit && <span id={id}>{unit}</span>}
        <Input className="input amount" />
      </Group>
      <Help help={help} />
      <Messages messages={messages} />
    </AriaTextField>
  )
}

/** Decimal euros, as the API has them. */
export const MoneyField = ({
  defaultValue,
  ...field
}: Omit<TextProps, 'defaultValue'> & { defaultValue?: number }) => (
  <DecimalField {...field} unit="€" defaultValue={defaultValue?.toFixed(2)} />
)

export type Option = { value: string; label: string }

type NativeProps = Labelled & {
  /** Shows the label to screen readers only, where the context says it. */
  isLabelHidden?: boolean
  name?: string
  value?: string
  defaultValue?: string
  onChange?: (value: string) => void
  isRequired?: boolean
}

/** One of a few options. The browser's own control, which phones show best. */
export const Select = ({ options, ...props }: NativeProps & { options: readonly Option[] }) => (
  <NativeField {...props}>
    {(control) => (
      <select className="input" {...control}>
        {options.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    )}
  </NativeField>
)

/** A calendar date as `2026-03-01`, or nothing. */
export const DateField = (props: NativeProps) => (
  <NativeField {...props}>
    {(control) => <input className="input" type="date" {...control} />}
  </NativeField>
)

function NativeField({
  label,
  help,
  isLabelHidden,
  onChange,
  isRequired,
  children,
  ...field
}: NativeProps & { children: (control: object) => ReactNode }) {
  const id = useId()
  const { messages, validated } = useMessages({ name: field.name, onChange })
  return (
    <div className="field">
      <label htmlFor={id} className={classes('label', isLabelHidden && 'visually-hidden')}>
        {label}
      </label>
      {children({
        id,
        ...field,
        'aria-required': isRequired,
        'aria-invalid': messages ? true : undefined,
        'aria-describedby': messages
          ? `${id}-error`
          : help !== undefined
            ? `${id}-help`
            : undefined,
        onChange({ target }: { target: HTMLInputElement | HTMLSelectElement }) {
          validated.onChange(target.value)
        },
      })}
      {help !== undefined && (
        <span id={`${id}-help`} className="help">
          {help}
        </span>
      )}
      {messages && (
        <span id={`${id}-error`} className="error">
          {messages.join(' ')}
        </span>
      )}
    </div>
  )
}

/**
 * The service's messages for a field, until it is changed. React Aria would remove them when the field loses the focus:
 * the button below would move while it is pressed, and the click would be lost.
 */
function useMessages<Field extends { name?: string; onChange?: (value: never) => void }>(
  field: Field,
) {
  const messages = useContext(FormValidationContext)?.[field.name ?? '']
  const [changed, setChanged] = useState<typeof messages>()
  const shown = messages === undefined || messages === changed ? undefined : [messages].flat()
  const onChange = ((value: never) => {
    setChanged(messages)
    field.onChange?.(value)
  }) as NonNullable<Field['onChange']>
  return { messages: shown, validated: { ...field, onChange, isInvalid: shown !== undefined } }
}

const Messages = ({ messages }: { messages: string[] | undefined }) => (
  <FieldError className="error">{messages?.join(' ')}</FieldError>
)

type CheckProps = Omit<CheckboxProps, 'children' | 'className'>

/** Without `children` it needs an `aria-label`. */
export const Checkbox = ({ children, ...props }: CheckProps & { children?: ReactNode }) => (
  <AriaCheckbox {...props} className="check">
    {({ isSelected, isIndeterminate }) => (
      <>
        <span className="box" aria-hidden="true">
          {isIndeterminate ? <Icon name="minus" /> : isSelected && <Icon name="check" />}
        </span>
        {children}
      </>
    )}
  </AriaCheckbox>
)

type GroupProps = Labelled & {
  name?: string
  options: readonly (Option & { help?: ReactNode })[]
  isRequired?: boolean
}

/** Any number of options. The form data has one entry per option that is checked. */
export const CheckboxGroup = ({
  label,
  help,
  options,
  ...group
}: GroupProps & {
  value?: string[]
  defaultValue?: string[]
  onChange?: (value: string[]) => void
}) => {
  const { messages, validated } = useMessages(group)
  return (
    <AriaCheckboxGroup {...validated} className="field">
      <Label className="label">{label}</Label>
      {options.map((option) => (
        <Checkbox key={option.value} value={option.value}>
          <OptionText {...option} />
        </Checkbox>
      ))}
      <Help help={help} />
      <Messages messages={messages} />
    </AriaCheckboxGroup>
  )
}

/** Exactly one of a few options, all of which are visible. */
export const RadioGroup = ({
  label,
  help,
  options,
  ...group
}: GroupProps & { value?: string; defaultValue?: string; onChange?: (value: string) => void }) => {
  const { messages, validated } = useMessages(group)
  return (
    <AriaRadioGroup {...validated} className="field">
      <Label className="label">{label}</Label>
      {options.map((option) => (
        <AriaRadio key={option.value} value={option.value} className="check">
          <span className="box round" aria-hidden="true" />
          <OptionText {...option} />
        </AriaRadio>
      ))}
      <Help help={help} />
      <Messages messages={messages} />
    </AriaRadioGroup>
  )
}

const OptionText = ({ label, help }: { label: string; help?: ReactNode }) => (
  <span>
    {label}
    {help !== undefined && <span className="help">{help}</span>}
  </span>
)
