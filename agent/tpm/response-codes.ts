/** Response codes of a TPM 2.0 that an operator can do something about (TCG TPM 2.0 Library, part 2, 6.6). */
const meanings: Readonly<Record<number, { readonly name: string; readonly meaning: string }>> = {
  0x100: { name: 'TPM_RC_INITIALIZE', meaning: 'the firmware has not started it' },
  0x101: {
    name: 'TPM_RC_FAILURE',
    meaning: 'it has failed its self-test, and does nothing until the machine is powered off',
  },
  0x120: { name: 'TPM_RC_DISABLED', meaning: 'it is switched off in the firmware setup' },
  0x143: { name: 'TPM_RC_COMMAND_CODE', meaning: 'it does not have this command' },
  0x14a: { name: 'TPM_RC_NV_UNINITIALIZED', meaning: 'nothing was written there' },
  0x083: { name: 'TPM_RC_MODE', meaning: 'it does not support this mode' },
  0x084: { name: 'TPM_RC_VALUE', meaning: 'it does not support this value' },
  0x085: { name: 'TPM_RC_HIERARCHY', meaning: 'the hierarchy is switched off in the firmware setup' },
  0x08a: { name: 'TPM_RC_TYPE', meaning: 'it does not support this type of key' },
  0x08b: { name: 'TPM_RC_HANDLE', meaning: 'there is no such object' },
  0x08e: {
    name: 'TPM_RC_AUTH_FAIL',
    meaning: 'a password is set, by an operating system that owned it; clear the TPM',
  },
  0x095: { name: 'TPM_RC_SIZE', meaning: 'a field has a length that it does not take' },
  0x09d: { name: 'TPM_RC_POLICY_FAIL', meaning: 'the policy of the key was not satisfied' },
  0x09f: { name: 'TPM_RC_INTEGRITY', meaning: 'the credential is not for this TPM, or not for this key' },
  0x0a2: { name: 'TPM_RC_BAD_AUTH', meaning: 'a password is set, by an operating system that owned it; clear the TPM' },
  0x902: { name: 'TPM_RC_OBJECT_MEMORY', meaning: 'it has no room for another key' },
  0x903: { name: 'TPM_RC_SESSION_MEMORY', meaning: 'it has no room for another session' },
  0x908: { name: 'TPM_RC_YIELDED', meaning: 'it was busy' },
  0x90a: { name: 'TPM_RC_TESTING', meaning: 'its self-test is still running' },
  0x921: { name: 'TPM_RC_LOCKOUT', meaning: 'it is locked after wrong passwords' },
  0x922: { name: 'TPM_RC_RETRY', meaning: 'it was busy' },
};

/** Finds the code itself, without the number of the parameter, handle or session that it is about. */
export function baseCode(code: number): number {
  // bit 7: the codes of format one, whose bits 8 to 11 and 6 are that number
  return (code & 0x80) === 0 ? code : code & 0xbf;
}

/** `TPM_RC_HIERARCHY (0x185), the hierarchy is switched off …`; of other codes the number alone. */
export function describeCode(code: number): string {
  const known = meanings[baseCode(code)];
  const number = `0x${code.toString(16).padStart(3, '0')}`;
  return known === undefined ? number : `${known.name} (${number}), ${known.meaning}`;
}
