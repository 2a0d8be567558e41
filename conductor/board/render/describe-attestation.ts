import type { BoardNode } from '#conductor/board/render/render-board.ts';

/**
 * Describes that the machine is not the one, or not as, it was accepted, as long as nobody has accepted that; `undefined` =
 * nobody is needed. A boot of which not all is proved needs nobody: by iPXE none is. Pure.
 */
export function describeDistrust({ attestation }: Pick<BoardNode, 'attestation'>): string | undefined {
  // an event of a conductor of the release before has none
  if (!attestation) return undefined;
  const { verdict, reasons, accepted, another } = attestation;
  const said = [
    ...(verdict === 'changed' && !accepted ? [`the newest boot is not trusted (changed): ${reasons.join('; ')}`] : []),
    ...(another
      ? ['another TPM than its own has asked in its place: another mainboard, another machine, or a stranger']
      : []),
  ];
  return said.length === 0 ? undefined : said.join('; ');
}

/** Advises what to do about it, commands between backticks. Pure. */
export function adviseOnDistrust({ name, uuid }: Pick<BoardNode, 'name' | 'uuid'>): string {
  const node = name ?? uuid;
  return `Look at it by \`baton tpm show ${node}\`. If it was you (firmware, Secure Boot, mainboard), accept it: \`baton tpm accept ${node} FINGERPRINT\`; else the machine runs what nobody has served, or is not yours.`;
}

/** Describes the verdict on the newest boot in a few words; `undefined` = none was attested. Pure. */
export function describeVerdict({ attestation }: Pick<BoardNode, 'attestation'>): string | undefined {
  if (!attestation) return undefined;
  const { verdict, reasons, accepted } = attestation;
  if (verdict === 'trusted') return verdict;
  return `${verdict}${accepted ? ', accepted since' : ''}: ${reasons.join('; ')}`;
}
