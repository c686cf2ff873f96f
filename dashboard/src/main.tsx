import '../styles/tokens.css'
import '../styles/base.css'
import '../styles/components.css'
import '../styles/shell.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { I18nProvider, RouterProvider } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { Router, useLocation } from 'wouter'
import { DASHBOARD } from './base.ts'
import { queryClient } from './query-client.ts'
import { askBeforeLeaving } from './shell/ask-before-leaving.ts'
import { Shell } from './shell/shell.tsx'

function App() {
  const [, navigate] = useLocation()
  return (
    <RouterProvider navigate={navigate}>
      <Shell />
    </RouterProvider>
  )
}

askBeforeLeaving()

createRoot(document.getElementById('dashboard')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <I18nProvider locale="en-GB">
        <Router base={DASHBOARD.replace(/\/$/, '')}>
          <App />
        </Router>
      </I18nProvider>
    </QueryClientProvider>
  </StrictMode>,
)
