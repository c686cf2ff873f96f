import GithubSlugger from 'github-slugger'
import { Marked, Renderer, type Tokens } from 'marked'
import { escapeHtml } from '../page.ts'

export type Rendered = { title: string; html: string }

/**
 * Renders Markdown as HTML, with GitHub's anchors for headings. Raw HTML becomes text, and comments are omitted.
 *
 * @param resolve returns the target of a link or a picture; undefined removes it and keeps its text
 */
export function renderMarkdown(
  text: string,
  resolve: (href: string) => string | undefined,
): Rendered {
  const slugs = new GithubSlugger()
  let title = ''
  const marked = new Marked({
    renderer: {
      html: ({ text }) => (/^<!--.*-->\s*$/s.test(text) ? '' : escapeHtml(text)),
      heading({ tokens, depth, text }) {
        if (depth === 1) title ||= text
        const id = slugs.slug(this.parser.parseInline(tokens, this.parser.textRenderer))
        return `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens)
        const target = resolve(href)
        return target === undefined ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`
      },
      image({ href, text }) {
        const target = resolve(href)
        return target === undefined
          ? escapeHtml(text)
          : `<img src="${escapeHtml(target)}" alt="${escapeHtml(text)}" loading="lazy">`
      },
      code: (block) =>
        stateTable(block) ??
        `<pre ${scrolls('Code')}><code>${escapeHtml(block.text)}</code></pre>\n`,
      table(token) {
        return `<div class="table" ${scrolls('Table')}>${Renderer.prototype.table.call(this, token)}</div>\n`
      },
      // The header of a column without a name is an empty cell: an empty <th> announces nothing.
      tablecell(token) {
        const cell = token.text === '' ? { ...token, header: false } : token
        return Renderer.prototype.tablecell.call(this, cell)
      },
    },
  })
  const html = marked.parse(text, { async: false })
  return { title, html }
}

/** Attributes of a wide block, which scrolls on its own: the keyboard reaches it, and a screen reader says where it is. */
const scrolls = (label: string) => `tabindex="0" role="group" aria-label="${label}"`

const TRANSITION = /^ *(\S+) --> (\S+?)(?:: (.+))?$/

/** Renders a Mermaid state diagram as a table, because drawing it would need a script of several megabytes. */
function stateTable({ lang, text }: Tokens.Code): string | undefined {
  const [kind, ...lines] = text.split('\n')
  if (lang !== 'mermaid' || kind !== 'stateDiagram-v2') return undefined
  const rows = lines.map((line) => {
    const [, from, to, cause = ''] = TRANSITION.exec(line) ?? []
    if (!from || !to) throw new Error(`Not a transition of a state diagram: ${line}`)
    const cells = [from.replace('[*]', '(start)'), to.replace('[*]', '(end)'), cause]
    return `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`
  })
  return `<div class="table" ${scrolls('Table')}><table><thead><tr><th>From</th><th>To</th><th>By</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>\n`
}
