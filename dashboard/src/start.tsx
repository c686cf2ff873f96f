import '../styles/tokens.css'
import '../styles/base.css'
import '../styles/components.css'
import '../styles/shell.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, StrictMode } from 'react'
import { I18nProvider, RouterProvider } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { Router, useLocation } from 'wouter'
import { queryClient } from './query-client.ts'
import { askBeforeLeaving } from './shell/ask-before-leaving.ts'

function Routes({ children }: { children: ReactNode }) {
  const [, navigate] = useLocation()
  return <RouterProvider navigate={navigate}>{children}</RouterProvider>
}

/**
 * Shows the dashboard or the console.
 * @param id of its element in the HTML
 * @param address of its pages, with a trailing slash
 */
export function start(id: string, address: string, app: ReactNode): void {
  askBeforeLeaving()
  createRoot(document.getElementById(id)!).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <I18nProvider locale="en-GB">
          <Router base={address.replace(/\/$/, '')}>
            <Routes>{app}</Routes>
          </Router>
        </I18nProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
}
