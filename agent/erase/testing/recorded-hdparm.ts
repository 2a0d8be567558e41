/** Composes what `hdparm -I` (9.65) prints of a disk, with another security section where a test wants one. */
export function hdparmIdentify(security: string | undefined): string {
  return `
/dev/sda:

ATA device, with non-removable media
\tModel Number:       INTEL SSDSC2CT240A4
\tSerial Number:      CVKI3206029X240DGN
\tFirmware Revision:  335u
\tTransport:          Serial, ATA8-AST, SATA 1.0a
Standards:
\tUsed: unknown (minor revision code 0xffff)
\tSupported: 9 8 7 6 5
Capabilities:
\tLBA, IORDY(can be disabled)
Commands/features:
\tEnabled\tSupported:
\t   *\tSMART feature set
\t    \tSecurity Mode feature set
\t   *\tData Set Management TRIM supported (limit 1 block)
${security ?? ''}Logical Unit WWN Device Identifier: 55cd2e40002643cf
\tNAA\t\t: 5
Checksum: correct
`;
}

/** A security section in hdparm's columns. */
export function securitySection(
  state: { enabled?: boolean; locked?: boolean; frozen?: boolean; supported?: boolean; enhanced?: boolean } = {},
): string {
  const word = (is: boolean | undefined, name: string): string => (is ? `\t\t${name}\n` : `\tnot\t${name}\n`);
  return [
    'Security: \n\tMaster password revision code = 65534\n',
    word(state.supported ?? true, 'supported'),
    word(state.enabled, 'enabled'),
    word(state.locked, 'locked'),
    word(state.frozen, 'frozen'),
    '\tnot\texpired: security count\n',
    (state.enhanced ?? true) ? '\t\tsupported: enhanced erase\n' : '\tnot\tsupported: enhanced erase\n',
    '\t4min for SECURITY ERASE UNIT. 2min for ENHANCED SECURITY ERASE UNIT.\n',
  ].join('');
}
