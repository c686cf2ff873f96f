// Runs in the browser, on the reference page.
const { Scalar } = globalThis
const element = document.getElementById('reference')

// URLs relative to this page, because the browser refuses requests to another origin, such as that of PUBLIC_URL.
const root = new URL('..', document.currentScript.src)
const api = (title, slug, description, prefix) => ({
  title,
  slug,
  url: new URL(description, root).href,
  servers: [{ url: new URL(prefix, root).href }],
})

const sources = [
  api('Seller API', 'seller', 'openapi.json', 'v1'),
  api('Tools API', 'tools', 'tools/openapi.json', 'tools/v1'),
]
if ('operator' in element.dataset) {
  sources.push(api('Operator API', 'operator', 'operator/openapi.json', 'operator/v1'))
}

// Scalar would take a text in the element for its own page, rendered by a server.
element.textContent = Scalar
  ? ''
  : 'This page has not been built. Run “npm ci && npm run build” in the service’s folder.'

Scalar?.createApiReference(element, {
  sources,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
})
