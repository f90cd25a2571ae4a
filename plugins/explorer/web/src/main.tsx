import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app/App";
import { wearTheme } from "./app/preferences";
import { preloadView } from "./app/views";
import "./app/theme.css";
import "./app/controls.css";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no #root");
// Before anything is painted, so that nobody is dazzled first.
wearTheme();
preloadView(window.location.pathname);
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
