import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import type { FlowView } from '#conductor/api/flows.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';

/** Proves by its TPM that the machine has run what it was served, and that it got to the tenant's network only then. */
export async function proveTrust(lab: Lab, node: LabNode, flow: FlowView): Promise<Proof[]> {
  const tpm = await lab.api.call<NodeTpmAnswer>('GET', `/v1/nodes/${node.name}/tpm`);
  const moved = flow.steps.find(({ step }) => step === 'switch_to_tenant_network')?.started_at;
  return [
    {
      what: 'its boot is trusted',
      holds: tpm.verdict === 'trusted',
      seen: [tpm.verdict, ...tpm.reasons].join('; '),
    },
    {
      what: 'Secure Boot as the machine was built',
      holds: tpm.boot?.secure_boot === node.machine.hasSecureBoot,
      seen: `SecureBoot is ${String(tpm.boot?.secure_boot)} in the measured log`,
    },
    {
      what: 'its port was moved only then',
      holds: moved != null && Date.parse(tpm.attested_at) < Date.parse(moved),
      seen: `attested at ${tpm.attested_at}, moved at ${moved}`,
    },
  ];
}
