import { Component, type ReactNode } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Button } from '../ui/button.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { CodeNotLoaded } from './lazy-component.tsx'

/**
 * Shows an error of a page in its place until the address changes; the navigation goes on working. After an update of the
 * service the chunk of a page that was not visited before no longer exists: loading the page again gets the new version.
 */
export function PageErrors({ children }: { children: ReactNode }) {
  const [path] = useLocation()
  const search = useSearch()
  return <ErrorsAt address={`${path}?${search}`}>{children}</ErrorsAt>
}

type Props = { address: string; children: ReactNode }
type State = { error: Error | undefined }

class ErrorsAt extends Component<Props, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override componentDidUpdate({ address }: Props) {
    if (this.state.error && address !== this.props.address) this.setState({ error: undefined })
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    const isNotLoaded = error instanceof CodeNotLoaded
    return (
      <PageHeader
        title={isNotLoaded ? 'This page could not be loaded' : 'This page has failed'}
        actions={
          <Button look="primary" icon="refresh" onPress={() => window.location.reload()}>
            Load the page again
          </Button>
        }
      >
        {error.message}
      </PageHeader>
    )
  }
}
