import '../../styles/tokens.css'
import '../../styles/base.css'
import '../../styles/components.css'
import '../../styles/shell.css'
import './console.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { I18nProvider, RouterProvider } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { Router, useLocation } from 'wouter'
import { CONSOLE, SERVICE } from '../base.ts'
import { callApi } from '../client.ts'
import { queryClient } from '../query-client.ts'
import { askBeforeLeaving } from '../shell/ask-before-leaving.ts'
import { Console } from './console.tsx'
import { session } from './session.ts'

callApi({
  address: `${SERVICE}operator/v1/`,
  token: session.token,
  onUnauthorized: session.end,
})

function App() {
  const [, navigate] = useLocation()
  return (
    <RouterProvider navigate={navigate}>
      <Console />
    </RouterProvider>
  )
}

askBeforeLeaving()

createRoot(document.getElementById('console')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <I18nProvider locale="en-GB">
        <Router base={CONSOLE.replace(/\/$/, '')}>
          <App />
        </Router>
      </I18nProvider>
    </QueryClientProvider>
  </StrictMode>,
)
