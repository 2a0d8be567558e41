import { isIP } from 'node:net';

/** RFC 1123's, and the underscores that some networks' names have. */
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/**
 * Returns whether the text may stand where a host is named: an IP address without brackets, or a host name. No port, no URL;
 * four numbers that are no address (`192.0.2.999`) are no name either, since no domain's last label is a number. Pure.
 */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const labels = text.replace(/\.$/, '').split('.');
  return text.length <= 254 && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1) ?? '');
}
