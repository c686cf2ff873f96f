/** A block of code or data that scrolls. `label` names it for screen readers. */
export const Code = ({ label, text }: { label: string; text: string }) => (
  // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable with the keyboard
  <div role="group" className="code-block" aria-label={label} tabIndex={0}>
    <pre>
      <code>{text}</code>
    </pre>
  </div>
)
