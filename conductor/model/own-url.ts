import { urlHost } from '#shared/peers/address-ranges.ts';

/** Composes the address of a conductor: the one that it has been given, else where it listens. */
export function ownUrl({
  publicUrl,
  host,
  port,
  hasTls,
}: {
  readonly publicUrl: string | undefined;
  readonly host: string;
  readonly port: number | string;
  readonly hasTls: boolean;
}): string {
  return (publicUrl ?? `${hasTls ? 'https' : 'http'}://${urlHost(host)}:${port}`).replace(/\/+$/, '');
}
