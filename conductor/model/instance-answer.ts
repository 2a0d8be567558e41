/** What an instance is asked, to tell whether it is in service; as documents have it. */
export interface InstanceAnswer {
  readonly by: 'ping' | 'tcp' | 'http';
  /** A host; `HOST:PORT`; a URL. */
  readonly target: string;
}
