/** The documents of `GET /` and `GET /v1/` (captures/agent-api-responses.txt); `origin` without a trailing slash. */

const describedBy = {
  href: 'https://docs.openstack.org/ironic-python-agent/',
  rel: 'describedby',
  type: 'text/html',
} as const;

export function rootDocument(origin: string): unknown {
  const version = { id: 'v1', links: [{ href: `${origin}/v1`, rel: 'self' }, describedBy] };
  return {
    name: 'OpenStack Ironic Python Agent API',
    description: "Baton's agent, which speaks the API of OpenStack Ironic's",
    versions: [version],
    default_version: version,
  };
}

export function v1Document(origin: string): unknown {
  const links = (resource: string): unknown => [
    { href: `${origin}/v1/${resource}`, rel: 'self' },
    { href: `${origin}/${resource}`, rel: 'bookmark' },
  ];
  return {
    commands: links('commands'),
    status: links('status'),
    media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic-python-agent.v1+json' }],
    id: 'v1',
    links: [{ href: `${origin}/v1`, rel: 'self' }, describedBy],
  };
}
