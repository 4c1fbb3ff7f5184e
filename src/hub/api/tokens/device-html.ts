import { createHash } from 'node:crypto';
import { escaped } from '../pages/html.ts';
import { type Offer, preselected, type Requested } from './device-decision.ts';

/** The HTML of the page on which a person confirms the login of a device. It has no script. */

const STYLE = `
:root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif; }
body { max-width: 36rem; margin: 2rem auto; padding: 0 1rem; }
label, dt { display: block; margin-top: 1rem; font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
input, select, button { font: inherit; padding: 0.4rem 0.6rem; }
code { font-size: 1.25rem; letter-spacing: 0.1em; }
.warning { border-left: 0.25rem solid; padding-left: 0.75rem; }
form { margin-top: 1rem; }
button { margin: 1rem 1rem 0 0; }
`;

/** The only style that the page may have, for its Content-Security-Policy. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

const pageOf = (title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - Berth</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;

/** The page on which the person enters the code. @param problem why the last code was not accepted; null: the first attempt */
export function entryPage(action: string, person: string, problem: string | null): string {
  const alert = problem === null ? '' : `<p role="alert" class="warning">${escaped(problem)}</p>\n`;
  return pageOf(
    'Log in on a machine',
    `${alert}<p>You are signed in as ${escaped(person)}. Enter the code that <code>berth login</code> shows.</p>
<form method="post" action="${escaped(action)}">
<label for="code">Code</label>
<input id="code" name="code" required autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" autofocus>
<button>Continue</button>
</form>`,
  );
}

/** A login as the page shows it. */
export interface ShownLogin {
  readonly userCode: string;
  readonly machine: string;
  readonly address: string;
  readonly requested: Requested;
  /** The requested tenant is the first. */
  readonly offers: readonly Offer[];
}

const OWN_ROLES = 'all your roles in this tenant';

/** The value of an option: the tenant (empty: the platform), and the role (empty: all own roles). */
export const optionValue = (tenantId: string | null, role: string): string => `${tenantId ?? ''}/${role}`;

const optionOf = (value: string, text: string, isSelected: boolean) =>
  `<option value="${escaped(value)}"${isSelected ? ' selected' : ''}>${escaped(text)}</option>`;

/** The option without a value is selected when the person must choose. The browser does not approve with it. */
function optionsOf({ offers, requested }: ShownLogin): string {
  const choice = preselected(offers, requested);
  const selected = choice === null ? '' : optionValue(choice.tenantId, choice.role ?? '');
  const options = offers.flatMap(({ tenantId, tenantName, roles }) =>
    ['', ...roles].map((role) => {
      const value = optionValue(tenantId, role);
      return optionOf(value, `${tenantName}: ${role === '' ? OWN_ROLES : role}`, value === selected);
    }),
  );
  return [optionOf('', 'Choose a tenant and a role', selected === ''), ...options].join('\n');
}

/** The page on which the person decides. */
export function decisionPage(action: string, person: string, login: ShownLogin): string {
  const { userCode, machine, address } = login;
  return pageOf(
    'Confirm the login',
    `<p class="warning">Approve only if you started <code>berth login</code> on this machine just now. If someone sent you the code,
deny: the machine gets your rights.</p>
<dl>
<dt>Code</dt><dd><code>${escaped(userCode)}</code></dd>
<dt>Machine</dt><dd>${escaped(machine)}</dd>
<dt>Address</dt><dd>${escaped(address)}</dd>
<dt>You</dt><dd>${escaped(person)}</dd>
</dl>
<form method="post" action="${escaped(action)}">
<input type="hidden" name="code" value="${escaped(userCode)}">
<label for="grant">Tenant and role of the machine, for at most 12 hours</label>
<select id="grant" name="grant" required>
${optionsOf(login)}
</select>
<div>
<button name="decision" value="approve">Approve</button>
<button name="decision" value="deny" formnovalidate>Deny</button>
</div>
</form>`,
  );
}

/** The page after the decision. */
export const decidedPage = (decision: 'approve' | 'deny', machine: string): string =>
  decision === 'approve'
    ? pageOf(
        'Approved',
        `<p>${escaped(machine)} is logged in within a few seconds. You can close this page.</p>`,
      )
    : pageOf('Denied', `<p>${escaped(machine)} gets no token. You can close this page.</p>`);

/** The page of an error that the person cannot correct here. */
export const problemPage = (problem: string, requestId: string): string =>
  pageOf('Not possible', `<p role="alert">${escaped(problem)}</p>\n<p>Request id: ${escaped(requestId)}</p>`);
