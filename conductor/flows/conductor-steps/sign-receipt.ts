import { signWipe } from '#conductor/flows/sign-wipe.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';

export const signReceipt: ConductorStep = {
  interface: 'deploy',
  step: 'sign_receipt',
  description: 'Signs a receipt of what was wiped, how, and the proof; a wipe without proof fails here.',
  run: async (context) => {
    const { uuid, keyFingerprint } = await signWipe(context);
    return { kind: 'done', output: { receipt: uuid, key: keyFingerprint } };
  },
};
