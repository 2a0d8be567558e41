/** Where one server of several listens. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

const hostsPart = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/s;
const readWrite = /[?&]target_session_attrs=(?:read-write|primary)(?:&|$)/;

/**
 * Returns the servers that a `postgres://` URL names, in its order; none or one without names that are separated by commas.
 * Pure.
 */
export function hostsOf(url: string): Host[] {
  const [, , hosts = ''] = hostsPart.exec(url) ?? [];
  return hosts.split(',').flatMap((each) => {
    const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(each) ?? [];
    return host === ''
      ? []
      : [{ host: decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1')), port: Number(port ?? 5432) }];
  });
}

/** Returns whether it is clear which server takes writes: of several that must be asked. Pure. */
export function namesPrimary(url: string): boolean {
  if (/[?&]host=[^&]*(,|%2c)/i.test(url)) return false;
  const [, , hosts = ''] = hostsPart.exec(url) ?? [];
  return !hosts.includes(',') || (hostsOf(url).length === hosts.split(',').length && readWrite.test(url));
}

/** Returns the URL with the first host only, and without what pg does not know. Pure. */
export function firstOf(url: string): string {
  const [, before = '', hosts = '', rest = ''] = hostsPart.exec(url) ?? [];
  const [path = '', query = ''] = rest.split('?', 2);
  const kept = query.split('&').filter((each) => each !== '' && !each.startsWith('target_session_attrs='));
  return `${before}${hosts.split(',')[0] ?? ''}${path}${kept.length > 0 ? `?${kept.join('&')}` : ''}`;
}
