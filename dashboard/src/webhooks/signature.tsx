import { useRef, useState } from 'react'
import { TextArea, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { checkSignature, type SignatureRecord } from './api.ts'

const FIELDS = ['body', 'timestamp', 'signature', 'secret']

/** Checks a request that the seller's software has received, and names the usual mistakes. */
export function SignatureTab() {
  const [result, setResult] = useState<SignatureRecord>()
  // A result is about the input that was checked: it disappears with a change, also with one before it comes.
  const checks = useRef(0)
  const forget = () => {
    checks.current++
    setResult(undefined)
  }
  return (
    <Section
      title="Check a signature"
      help="Paste a request as your software got it. Nothing of it is stored."
    >
      <div onChange={forget}>
        <Form
          submit="Check signature"
          onSubmit={async (data) => {
            forget()
            const check = checks.current
            const entries = FIELDS.map((name) => [name, String(data.get(name) ?? '')])
            const found = await checkSignature(Object.fromEntries(entries))
            if (check === checks.current) setResult(found)
          }}
        >
          <TextArea
            label="Body"
            name="body"
            rows={6}
            isMonospaced
            help="The raw bytes, unformatted."
          />
          <TextField
            label="Timestamp"
            name="timestamp"
            isMonospaced
            help="The header X-Service-Timestamp"
          />
          <TextField
            label="Signature"
            name="signature"
            isMonospaced
            help="The header X-Service-Signature"
          />
          <TextField
            label="Secret"
            name="secret"
            type="password"
            autoComplete="off"
            isMonospaced
            help="It begins with svc_whsec_"
          />
        </Form>
      </div>
      <div role="status">
        {result && (
          <Notice tone={result.valid ? 'good' : 'bad'}>
            <div className="prose">
              <p>
                <strong>
                  {result.valid ? 'The signature is correct.' : 'The signature is wrong.'}
                </strong>
              </p>
              {result.findings.map((finding) => (
                <p key={finding}>{finding}</p>
              ))}
            </div>
          </Notice>
        )}
      </div>
    </Section>
  )
}
