import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app/App";
import { wearTheme } from "./app/preferences";
import "./app/theme.css";
import "./app/controls.css";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no #root");
// Before anything is painted, so that nobody is dazzled first.
wearTheme();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
